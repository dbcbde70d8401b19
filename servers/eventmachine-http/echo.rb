# frozen_string_literal: true

# An HTTP server on EventMachine that answers "<path> at <date>": echo.rb HOST PORT
require 'eventmachine'
require 'http/parser'
require 'socket'
require 'time'

# EventMachine sets TCP_NODELAY.
class Connection < EM::Connection
  def post_init
    @parser = HTTP::Parser.new(self)
  end

  def receive_data(data)
    @parser << data
  rescue HTTP::Parser::Error
    send_data("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    close_connection_after_writing
  end

  # The parser calls this for each request, of which one read may bring several.
  def on_message_complete
    body = "#{@parser.request_url} at #{Time.now.httpdate}"
    connection = @parser.keep_alive? ? 'keep-alive' : 'close'
    send_data("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: #{body.bytesize}\r\n" \
              "Connection: #{connection}\r\n\r\n#{body unless @parser.http_method == 'HEAD'}")
    close_connection_after_writing unless @parser.keep_alive?
  end
end

EM.epoll
EM.run do
  # The backlog of EM.start_server is 100.
  EM.attach_server Addrinfo.tcp(ARGV[0], Integer(ARGV[1])).listen(4096), Connection
end
