# frozen_string_literal: true

# A TCP echo server on Cool.io: echo.rb HOST PORT
require 'cool.io'

class Echo < Cool.io::TCPSocket
  def on_read(data)
    write(data)
  end
end

listener = TCPServer.new(ARGV[0], Integer(ARGV[1]))
listener.setsockopt(:TCP, :NODELAY, true) # connections inherit it
server = Cool.io::TCPServer.new(listener, nil, Echo)
server.listen(4096)
server.attach(Cool.io::Loop.default)
Cool.io::Loop.default.run
