%% A pool of connections to PostgreSQL: p1_pgsql has none. A process holds each of them.
-module(database).
-export([start/0, run/1]).

start() ->
    Most = list_to_integer(os:getenv("DATABASE_MAX_CONN")),
    Pool = spawn(fun() -> pool([], queue:new()) end),
    persistent_term:put(?MODULE, Pool),
    [spawn(fun() -> holder(Pool) end) || _ <- lists:seq(1, Most)].

%% Runs Work(Execute) with a connection, which it has alone meanwhile. Execute(Statement, Values)
%% gives the rows.
run(Work) ->
    Reply = erlang:monitor(process, persistent_term:get(?MODULE), [{alias, reply_demonitor}]),
    persistent_term:get(?MODULE) ! {work, Reply, Work},
    receive
        {Reply, {ok, Result}} -> Result;
        {Reply, {error, Reason}} -> error(Reason);
        {'DOWN', Reply, process, _, Reason} -> error(Reason)
    end.

%% Brings work and idle holders together; the one that was idle last comes first.
pool([Holder | Idle], Waiting) ->
    case queue:out(Waiting) of
        {{value, Work}, Rest} ->
            Holder ! Work,
            pool(Idle, Rest);
        {empty, _} ->
            pool_receive([Holder | Idle], Waiting)
    end;
pool([], Waiting) ->
    pool_receive([], Waiting).

pool_receive(Idle, Waiting) ->
    receive
        {idle, Holder} -> pool([Holder | Idle], Waiting);
        {work, _, _} = Work -> pool(Idle, queue:in(Work, Waiting))
    end.

holder(Pool) ->
    process_flag(trap_exit, true),
    idle(Pool, none).

idle(Pool, Connection) ->
    Pool ! {idle, self()},
    wait(Pool, Connection).

%% Connects when there is work, and again after a failure.
wait(Pool, Connection) ->
    receive
        {'EXIT', Connection, _} ->
            wait(Pool, none);
        {'EXIT', _, _} ->
            wait(Pool, Connection);
        {work, Reply, Work} ->
            {Result, Next} =
                try connection(Connection) of
                    Open -> work(Work, Open)
                catch
                    _:Reason -> {{error, Reason}, none}
                end,
            Reply ! {Reply, Result},
            idle(Pool, Next)
    end.

work(Work, Connection) ->
    try
        {{ok, Work(fun(Name, Values) -> execute(Connection, Name, Values) end)}, Connection}
    catch _:Reason ->
        exit(Connection, kill),
        {{error, Reason}, none}
    end.

connection(none) ->
    #{host := Host, port := Port, path := Path, userinfo := User} =
        uri_string:parse(os:getenv("DATABASE_URL")),
    [Name, Password] = string:split(User, ":"),
    {ok, Connection} = pgsql:connect([{host, Host}, {port, Port}, {database, tl(Path)},
                                      {user, Name}, {password, Password}, {as_binary, true}]),
    link(Connection),
    [{ok, _, _, _} = pgsql:prepare(Connection, Statement, Text) || {Statement, Text} <- statements()],
    Connection;
connection(Open) ->
    Open.

statements() ->
    [{"world", "SELECT id, randomnumber FROM world WHERE id = $1"},
     {"cached", "SELECT id, randomnumber FROM cachedworld"},
     {"fortunes", "SELECT id, message FROM fortune"},
     %% The planner keeps the order of the arrays, so that rows are locked by ascending id.
     {"update", "UPDATE world SET randomnumber = new.number "
                "FROM unnest($1::int[], $2::int[]) AS new (id, number) WHERE world.id = new.id"}].

execute(Connection, Name, Values) ->
    case pgsql:execute(Connection, Name, Values) of
        {ok, {'UPDATE', _}} -> [];
        {ok, {_, Rows}} -> [[value(Column) || Column <- Row] || Row <- Rows]
    end.

value({int4, Text}) -> binary_to_integer(Text);
value({_, Text}) -> Text.
