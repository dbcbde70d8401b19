%% A TCP echo server: a process per connection.
-module(echo).
-export([start/1]).

%% Called by `erl -s echo start HOST PORT`.
start([Host, Port]) ->
    os:set_signal(sigterm, default),  % end at once: there is nothing to wind up
    {ok, Address} = inet:parse_address(atom_to_list(Host)),
    case gen_tcp:listen(list_to_integer(atom_to_list(Port)), [{ip, Address} | options()]) of
        {ok, Listener} ->
            spawn(fun() -> accept(Listener) end),
            timer:sleep(infinity);  % the listener closes with the process that made it
        {error, Reason} ->
            io:format(standard_error, "cannot listen on ~s, port ~s: ~s~n",
                      [Host, Port, inet:format_error(Reason)]),
            halt(1)
    end.

options() ->
    [binary, {packet, raw}, {active, false}, {reuseaddr, true}, {backlog, 4096}, {nodelay, true},
     %% A peer that has closed its sending side still gets its answers.
     {exit_on_close, false}].

%% The process that accepts a connection owns it, and becomes its server: the next one is
%% accepted by a new process.
accept(Listener) ->
    case gen_tcp:accept(Listener) of
        {ok, Socket} ->
            spawn(fun() -> accept(Listener) end),
            echo(Socket);
        {error, _} ->
            timer:sleep(10),  % out of descriptors: until one is free
            accept(Listener)
    end.

echo(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Data} ->
            %% Waits while the peer does not take its answers; nothing is read meanwhile.
            case gen_tcp:send(Socket, Data) of
                ok -> echo(Socket);
                {error, _} -> gen_tcp:close(Socket)
            end;
        {error, _} ->
            gen_tcp:close(Socket)  % sends what is queued first
    end.
