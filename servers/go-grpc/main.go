// The contract grpc-echo with grpc-go: server HOST PORT.
package main

import (
	"context"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"prony/go-grpc/echo"
)

type service struct {
	echo.UnimplementedEchoServiceServer
}

func (service) Echo(_ context.Context, payload *echo.Payload) (*echo.Payload, error) {
	return payload, nil
}

func (service) Fail(_ context.Context, failure *echo.Failure) (*echo.Payload, error) {
	return nil, status.Error(codes.Code(failure.Code), failure.Text)
}

func (service) Stream(asked *echo.Repetition, stream grpc.ServerStreamingServer[echo.Payload]) error {
	first := asked.Payload.GetNumber()
	for i := range asked.Times {
		// A message that was sent must not be changed.
		payload := proto.CloneOf(asked.Payload)
		payload.Number = first + int64(i)
		if err := stream.Send(payload); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: server HOST PORT")
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Args[1], os.Args[2]))
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	echo.RegisterEchoServiceServer(server, service{})
	log.Fatal(server.Serve(listener))
}
