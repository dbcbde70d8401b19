// The contract grpc-echo with gRPC's callback API: server HOST PORT.

#include <csignal>
#include <cstdint>
#include <iostream>
#include <string>

#include <grpcpp/grpcpp.h>

#include "echo.grpc.pb.h"

namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using grpc::ServerWriteReactor;
using grpc::Status;
using grpc::StatusCode;
using prony::echo::Failure;
using prony::echo::Payload;
using prony::echo::Repetition;

// Writes one payload after the other; it ends with its call.
class Repeated final : public ServerWriteReactor<Payload> {
 public:
  explicit Repeated(const Repetition& asked)
      : payload_(asked.payload()), first_(payload_.number()), times_(asked.times()) {
    next();
  }

  void OnWriteDone(bool ok) override {
    if (ok) {
      next();
    } else {
      Finish(Status(StatusCode::CANCELLED, "the client has left"));
    }
  }

  void OnDone() override { delete this; }

 private:
  void next() {
    if (sent_ >= times_) {
      Finish(Status::OK);
      return;
    }
    // Unsigned numbers may wrap around.
    payload_.set_number(static_cast<std::int64_t>(static_cast<std::uint64_t>(first_) + sent_));
    ++sent_;
    StartWrite(&payload_);
  }

  Payload payload_;
  const std::int64_t first_;
  const std::int32_t times_;
  std::int32_t sent_ = 0;
};

class Service final : public prony::echo::EchoService::CallbackService {
  ServerUnaryReactor* Echo(CallbackServerContext* context, const Payload* payload,
                           Payload* answer) override {
    *answer = *payload;
    auto* reactor = context->DefaultReactor();
    reactor->Finish(Status::OK);
    return reactor;
  }

  ServerUnaryReactor* Fail(CallbackServerContext* context, const Failure* failure,
                           Payload*) override {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(Status(static_cast<StatusCode>(failure->code()), failure->text()));
    return reactor;
  }

  ServerWriteReactor<Payload>* Stream(CallbackServerContext*, const Repetition* asked) override {
    return new Repeated(*asked);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: server HOST PORT\n";
    return 2;
  }
  std::string host = argv[1];
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  Service service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(host + ":" + argv[2], grpc::InsecureServerCredentials(), &port);
  // One process, one listener: a second server on the port is an error.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  if (!server || port == 0) {
    std::cerr << "cannot serve on " << host << ":" << argv[2] << "\n";
    return 1;
  }
  server->Wait();
}
