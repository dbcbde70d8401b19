# frozen_string_literal: true

# A TCP echo server on EventMachine: echo.rb HOST PORT
require 'eventmachine'
require 'socket'

# EventMachine sets TCP_NODELAY, and closes a connection when it reads its end: what the kernel
# has not taken by then (megabytes, that is, for a client that does not read) is lost.
module Echo
  def receive_data(data)
    send_data(data)
  end
end

EM.epoll
EM.run do
  # EM.start_server would listen with a backlog of 100.
  EM.attach_server Addrinfo.tcp(ARGV[0], Integer(ARGV[1])).listen(4096), Echo
end
