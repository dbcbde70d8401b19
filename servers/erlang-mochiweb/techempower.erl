%% The techempower contract on MochiWeb, p1_pgsql, jiffy and bbmustache.
-module(techempower).
-export([start/1]).

-define(WORLDS, 10000).

%% Called by `erl -s techempower start HOST PORT TEMPLATE`.
start([Host, Port, Template]) ->
    os:set_signal(sigterm, default),  % end at once: there is nothing to wind up
    %% The driver's authentication needs it.
    {ok, _} = application:ensure_all_started(stringprep),
    {ok, Address} = inet:parse_address(atom_to_list(Host)),
    database:start(),
    persistent_term:put(template, bbmustache:parse_file(atom_to_list(Template))),
    {ok, _} = mochiweb_http:start([{ip, Address}, {port, list_to_integer(atom_to_list(Port))},
                                   {backlog, 4096}, {max, 100000}, {nodelay, true},
                                   {loop, fun serve/1}]),
    timer:sleep(infinity).  % the server ends with the process that started it

%% MochiWeb sets Server and Date.
serve(Request) ->
    Path = mochiweb_request:get(path, Request),
    Answer = try answer(Path, mochiweb_request:parse_qs(Request))
             catch _:Reason -> {500, "text/plain", io_lib:format("~p", [Reason])}
             end,
    {Status, Type, Body} = Answer,
    mochiweb_request:respond({Status, [{"Content-Type", Type}], Body}, Request).

answer("/json", _) ->
    json(#{message => <<"Hello, World!">>});
answer("/plaintext", _) ->
    {200, "text/plain", <<"Hello, World!">>};
answer("/db", _) ->
    [World] = select([random_id()]),
    json(World);
answer("/queries", Query) ->
    json(select(random_ids(number("queries", Query))));
answer("/fortunes", _) ->
    Rows = database:run(fun(Execute) -> Execute("fortunes", []) end),
    All = [[0, <<"Additional fortune added at request time.">>] | Rows],
    Sorted = lists:sort(fun([_, A], [_, B]) -> A =< B end, All),
    Fortunes = [#{id => Id, message => Message} || [Id, Message] <- Sorted],
    Page = bbmustache:compile(persistent_term:get(template), #{fortunes => Fortunes}, [{key_type, atom}]),
    {200, "text/html; charset=utf-8", Page};
answer("/updates", Query) ->
    json(update(random_ids(number("queries", Query))));
answer("/cached-queries", Query) ->
    Cached = cached(),
    json([element(random_id(), Cached) || _ <- lists:seq(1, number("count", Query))]);
answer(_, _) ->
    {404, "text/plain", <<>>}.

json(Value) ->
    {200, "application/json", jiffy:encode(Value)}.

select(Ids) ->
    database:run(fun(Execute) -> select(Execute, Ids) end).

%% Each row by a statement of its own.
select(Execute, Ids) ->
    [begin [Row] = Execute("world", [Id]), world(Row) end || Id <- Ids].

update(Ids) ->
    database:run(fun(Execute) ->
        Worlds = [World#{randomNumber := random_id()} || World <- select(Execute, lists:sort(Ids))],
        Execute("update", [array(id, Worlds), array(randomNumber, Worlds)]),
        Worlds
    end).

array(Key, Worlds) ->
    Numbers = [integer_to_list(maps:get(Key, World)) || World <- Worlds],
    lists:flatten(["{", lists:join(",", Numbers), "}"]).

world([Id, Number]) ->
    #{id => Id, randomNumber => Number}.

%% Read when they are first asked for.
cached() ->
    case persistent_term:get(cached, none) of
        none ->
            Rows = database:run(fun(Execute) -> Execute("cached", []) end),
            Worlds = list_to_tuple([world(Row) || Row <- Rows]),
            persistent_term:put(cached, Worlds),
            Worlds;
        Worlds ->
            Worlds
    end.

%% The parameter within 1 and 500; 1 when it is not a number.
number(Name, Query) ->
    case string:to_integer(proplists:get_value(Name, Query, "")) of
        {Number, ""} -> max(1, min(500, Number));
        _ -> 1
    end.

random_id() ->
    rand:uniform(?WORLDS).

%% Distinct ones.
random_ids(Count) -> random_ids(Count, #{}).

random_ids(Count, Ids) when map_size(Ids) =:= Count -> maps:keys(Ids);
random_ids(Count, Ids) -> random_ids(Count, Ids#{random_id() => true}).
