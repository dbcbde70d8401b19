import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import prony.echo.Echo.Failure;
import prony.echo.Echo.Payload;
import prony.echo.Echo.Repetition;
import prony.echo.EchoServiceGrpc;

/** The contract grpc-echo with grpc-java: Main HOST PORT. */
public final class Main {
    private static final class Service extends EchoServiceGrpc.EchoServiceImplBase {
        @Override
        public void echo(Payload payload, StreamObserver<Payload> answer) {
            answer.onNext(payload);
            answer.onCompleted();
        }

        @Override
        public void fail(Failure failure, StreamObserver<Payload> answer) {
            answer.onError(Status.fromCodeValue(failure.getCode())
                    .withDescription(failure.getText()).asException());
        }

        @Override
        public void stream(Repetition asked, StreamObserver<Payload> observer) {
            var answer = (ServerCallStreamObserver<Payload>) observer;
            var payload = asked.getPayload().toBuilder();
            long first = payload.getNumber();
            // The client's flow control says how many messages may wait here.
            answer.setOnReadyHandler(new Runnable() {
                private int sent = 0;
                private boolean ended = false;

                @Override
                public void run() {
                    while (!ended && answer.isReady()) {
                        if (sent == asked.getTimes()) {
                            ended = true;
                            answer.onCompleted();
                            return;
                        }
                        answer.onNext(payload.setNumber(first + sent).build());
                        sent++;
                    }
                }
            });
            // A client that leaves is no fault.
            answer.setOnCancelHandler(() -> {});
        }
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        if (args.length != 2) {
            System.err.println("usage: Main HOST PORT");
            System.exit(2);
        }
        NettyServerBuilder.forAddress(new InetSocketAddress(args[0], Integer.parseInt(args[1])))
                .withOption(ChannelOption.SO_BACKLOG, 4096)
                // Nothing here blocks: calls need no threads of their own.
                .directExecutor()
                .addService(new Service())
                .build()
                .start()
                .awaitTermination();
    }
}
