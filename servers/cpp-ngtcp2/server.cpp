// http-echo over HTTP/3: QUIC by ngtcp2, its TLS by GnuTLS, HTTP/3 by nghttp3, and one event loop of libev per process.
#include <ev++.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <nghttp3/nghttp3.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

// Length of the connection IDs that the server gives itself.
constexpr size_t kIdLength = 8;
// Requests in flight on a connection, and bytes of requests on the way.
constexpr uint64_t kStreams = 256;
constexpr uint64_t kStreamWindow = 256 * 1024;
constexpr uint64_t kWindow = 1024 * 1024;
// What one system call takes and sends: the longest that GRO and GSO know.
constexpr size_t kBatch = 64 * 1024 - 1;
constexpr size_t kMostSegments = 64;
// Receiving calls in a row before anything else has its turn.
constexpr int kReads = 64;

// As ngtcp2 wants it: TLS 1.3 without the messages that only middleboxes of TCP need.
constexpr char kPriority[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:"
    "-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:%DISABLE_TLS13_COMPAT_MODE";

[[noreturn]] void die(const std::string& what, const char* why) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), why);
    std::exit(1);
}

[[noreturn]] void die(const std::string& what) { die(what, std::strerror(errno)); }

ngtcp2_tstamp now() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * NGTCP2_SECONDS + static_cast<uint64_t>(time.tv_nsec);
}

void randomize(uint8_t* to, size_t size) { ::gnutls_rnd(GNUTLS_RND_RANDOM, to, size); }

// Such as "Sat, 21 Nov 2026 10:09:54 GMT"; written once a second.
std::string_view date() {
    static time_t written = -1;
    static char text[64];
    static size_t length = 0;
    const time_t seconds = ::time(nullptr);
    if (seconds != written) {
        tm parts{};
        ::gmtime_r(&seconds, &parts);
        length = ::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
        written = seconds;
    }
    return {text, length};
}

struct Credentials {
    gnutls_certificate_credentials_t certificate = nullptr;
    gnutls_priority_t priority = nullptr;
    gnutls_datum_t tickets{};

    Credentials(const char* cert, const char* key) {
        ::gnutls_certificate_allocate_credentials(&certificate);
        const int error = ::gnutls_certificate_set_x509_key_file(certificate, cert, key, GNUTLS_X509_FMT_PEM);
        if (error != 0) die("cannot use the certificate", ::gnutls_strerror(error));
        ::gnutls_priority_init(&priority, kPriority, nullptr);
        ::gnutls_session_ticket_key_generate(&tickets);
    }
};

class Connection;

// A UDP socket and its connections.
class Server {
public:
    Server(int fd, const Credentials& credentials);

    // Sends datagrams of `segment` bytes each, of which the last may be shorter.
    void send(const ngtcp2_addr& to, uint8_t* data, size_t size, size_t segment);

    const Credentials& credentials;
    // By each of their connection IDs.
    std::unordered_map<std::string, Connection*> connections;
    // Those that datagrams have come for, since the last that were sent.
    std::vector<Connection*> touched;

private:
    void readable();
    bool receive();
    void datagram(const ngtcp2_path& path, uint8_t* data, size_t size);
    void refuse_version(const ngtcp2_path& path, const ngtcp2_version_cid& asked);

    const int fd_;
    sockaddr_storage address_{};
    socklen_t address_length_ = sizeof address_;
    ev::io watcher_;
};

// A request, and what is sent of its answer: the libraries refer to that until it has been acknowledged.
struct Stream {
    std::string method, path, body;
};

class Connection {
public:
    // Throws nothing: `works` tells whether it can be used.
    Connection(Server& server, const ngtcp2_pkt_hd& first, const ngtcp2_path& path);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    bool works() const { return quic_ != nullptr; }

    // Takes a datagram in. False: the connection is over.
    bool read(const ngtcp2_path& path, const uint8_t* data, size_t size);
    // Sends what there is to send, and awaits the next time-out. False: the connection is over.
    bool write();

private:
    static Connection& of(void* user) { return *static_cast<Connection*>(user); }
    static const ngtcp2_callbacks& quic_callbacks();
    static const nghttp3_callbacks& http_callbacks();

    void speak_tls();
    bool speak_http();
    void known_as(const uint8_t* id, size_t size);
    void consumed(int64_t id, size_t size);
    int answer(int64_t id);
    int from_http(int error);
    void timed_out();
    bool fail(int error);

    Server& server_;
    ngtcp2_conn* quic_ = nullptr;
    nghttp3_conn* http_ = nullptr;
    gnutls_session_t tls_ = nullptr;
    ngtcp2_crypto_conn_ref reference_{};
    int http_error_ = 0;
    std::vector<std::string> ids_;
    std::unordered_map<int64_t, Stream> streams_;
    ev::timer timer_;
};

Connection::Connection(Server& server, const ngtcp2_pkt_hd& first, const ngtcp2_path& path) : server_(server) {
    ngtcp2_settings settings;
    ::ngtcp2_settings_default(&settings);
    settings.initial_ts = now();

    ngtcp2_transport_params params;
    ::ngtcp2_transport_params_default(&params);
    params.original_dcid = first.dcid;
    params.initial_max_streams_bidi = kStreams;
    params.initial_max_streams_uni = 3;  // one for control, two for QPACK
    params.initial_max_stream_data_bidi_remote = kStreamWindow;
    params.initial_max_stream_data_uni = kStreamWindow;
    params.initial_max_data = kWindow;
    // Idle connections stay open: at a low rate, a time-out would look like a failure.
    params.max_idle_timeout = 0;

    ngtcp2_cid id{};
    id.datalen = kIdLength;
    randomize(id.data, id.datalen);
    if (::ngtcp2_conn_server_new(&quic_, &first.scid, &id, &path, first.version, &quic_callbacks(), &settings, &params,
                                 nullptr, this) != 0) {
        quic_ = nullptr;
        return;
    }
    // Until the client knows the server's ID it uses one that it has made up.
    known_as(first.dcid.data, first.dcid.datalen);
    known_as(id.data, id.datalen);
    speak_tls();
    timer_.set<Connection, &Connection::timed_out>(this);
}

Connection::~Connection() {
    auto& touched = server_.touched;
    touched.erase(std::remove(touched.begin(), touched.end(), this), touched.end());
    for (const std::string& id : ids_) server_.connections.erase(id);
    timer_.stop();
    ::nghttp3_conn_del(http_);
    ::ngtcp2_conn_del(quic_);
    if (tls_ != nullptr) ::gnutls_deinit(tls_);
}

void Connection::known_as(const uint8_t* id, size_t size) {
    ids_.emplace_back(reinterpret_cast<const char*>(id), size);
    server_.connections[ids_.back()] = this;
}

void Connection::speak_tls() {
    static unsigned char name[] = "h3";
    const gnutls_datum_t protocol{name, sizeof name - 1};
    ::gnutls_init(&tls_, GNUTLS_SERVER);
    ::gnutls_priority_set(tls_, server_.credentials.priority);
    ::gnutls_credentials_set(tls_, GNUTLS_CRD_CERTIFICATE, server_.credentials.certificate);
    ::gnutls_session_ticket_enable_server(tls_, &server_.credentials.tickets);
    ::gnutls_alpn_set_protocols(tls_, &protocol, 1, GNUTLS_ALPN_MANDATORY);
    ::ngtcp2_crypto_gnutls_configure_server_session(tls_);
    reference_.get_conn = [](ngtcp2_crypto_conn_ref* reference) { return of(reference->user_data).quic_; };
    reference_.user_data = this;
    ::gnutls_session_set_ptr(tls_, &reference_);
    ::ngtcp2_conn_set_tls_native_handle(quic_, tls_);
}

// Begins HTTP/3, once there are keys to send it with.
bool Connection::speak_http() {
    nghttp3_settings settings;
    ::nghttp3_settings_default(&settings);
    settings.qpack_max_dtable_capacity = 4096;
    settings.qpack_blocked_streams = 100;
    if (::nghttp3_conn_server_new(&http_, &http_callbacks(), &settings, nullptr, this) != 0) return false;
    ::nghttp3_conn_set_max_client_streams_bidi(http_, kStreams);
    int64_t control = 0, encoder = 0, decoder = 0;
    return ::ngtcp2_conn_open_uni_stream(quic_, &control, nullptr) == 0 &&
           ::ngtcp2_conn_open_uni_stream(quic_, &encoder, nullptr) == 0 &&
           ::ngtcp2_conn_open_uni_stream(quic_, &decoder, nullptr) == 0 &&
           ::nghttp3_conn_bind_control_stream(http_, control) == 0 &&
           ::nghttp3_conn_bind_qpack_streams(http_, encoder, decoder) == 0;
}

// Gives the client room for as many further bytes.
void Connection::consumed(int64_t id, size_t size) {
    ::ngtcp2_conn_extend_max_stream_offset(quic_, id, size);
    ::ngtcp2_conn_extend_max_offset(quic_, size);
}

// GET /any/path -> "/any/path at <date>".
int Connection::answer(int64_t id) {
    Stream& stream = streams_[id];
    stream.body = stream.path + " at ";
    stream.body += date();
    const std::string length = std::to_string(stream.body.size());
    const auto field = [](std::string_view name, std::string_view value) {
        // Copied, and not written to.
        const auto bytes = [](std::string_view text) {
            return const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(text.data()));
        };
        return nghttp3_nv{bytes(name), bytes(value), name.size(), value.size(), NGHTTP3_NV_FLAG_NONE};
    };
    const nghttp3_nv fields[] = {
        field(":status", "200"),
        field("content-type", "text/plain"),
        field("content-length", length),
    };
    const nghttp3_data_reader body{[](nghttp3_conn*, int64_t id, nghttp3_vec* parts, size_t, uint32_t* flags,
                                      void* user, void*) -> nghttp3_ssize {
        std::string& body = of(user).streams_[id].body;
        parts[0] = {reinterpret_cast<uint8_t*>(body.data()), body.size()};
        *flags |= NGHTTP3_DATA_FLAG_EOF;
        return 1;
    }};
    return ::nghttp3_conn_submit_response(http_, id, fields, std::size(fields),
                                          stream.method == "HEAD" ? nullptr : &body);
}

// What a callback of QUIC returns for an error of HTTP/3, which `fail` tells the client.
int Connection::from_http(int error) {
    if (error == 0) return 0;
    http_error_ = error;
    return NGTCP2_ERR_CALLBACK_FAILURE;
}

const ngtcp2_callbacks& Connection::quic_callbacks() {
    static const ngtcp2_callbacks callbacks = [] {
        ngtcp2_callbacks it{};
        it.recv_client_initial = ::ngtcp2_crypto_recv_client_initial_cb;
        it.recv_crypto_data = ::ngtcp2_crypto_recv_crypto_data_cb;
        it.encrypt = ::ngtcp2_crypto_encrypt_cb;
        it.decrypt = ::ngtcp2_crypto_decrypt_cb;
        it.hp_mask = ::ngtcp2_crypto_hp_mask_cb;
        it.update_key = ::ngtcp2_crypto_update_key_cb;
        it.delete_crypto_aead_ctx = ::ngtcp2_crypto_delete_crypto_aead_ctx_cb;
        it.delete_crypto_cipher_ctx = ::ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
        it.get_path_challenge_data = ::ngtcp2_crypto_get_path_challenge_data_cb;
        it.version_negotiation = ::ngtcp2_crypto_version_negotiation_cb;
        it.rand = [](uint8_t* to, size_t size, const ngtcp2_rand_ctx*) { randomize(to, size); };
        it.get_new_connection_id = [](ngtcp2_conn*, ngtcp2_cid* id, uint8_t* token, size_t size, void* user) {
            id->datalen = size;
            randomize(id->data, size);
            randomize(token, NGTCP2_STATELESS_RESET_TOKENLEN);
            of(user).known_as(id->data, size);
            return 0;
        };
        it.remove_connection_id = [](ngtcp2_conn*, const ngtcp2_cid* id, void* user) {
            Connection& self = of(user);
            const std::string gone(reinterpret_cast<const char*>(id->data), id->datalen);
            self.ids_.erase(std::remove(self.ids_.begin(), self.ids_.end(), gone), self.ids_.end());
            self.server_.connections.erase(gone);
            return 0;
        };
        it.recv_tx_key = [](ngtcp2_conn*, ngtcp2_crypto_level level, void* user) {
            const bool able = level != NGTCP2_CRYPTO_LEVEL_APPLICATION || of(user).speak_http();
            return able ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
        };
        it.recv_stream_data = [](ngtcp2_conn*, uint32_t flags, int64_t id, uint64_t, const uint8_t* data, size_t size,
                                 void* user, void*) {
            Connection& self = of(user);
            const bool last = (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0;
            const nghttp3_ssize taken = ::nghttp3_conn_read_stream(self.http_, id, data, size, last);
            if (taken < 0) return self.from_http(static_cast<int>(taken));
            self.consumed(id, taken);
            return 0;
        };
        it.acked_stream_data_offset = [](ngtcp2_conn*, int64_t id, uint64_t, uint64_t size, void* user, void*) {
            return of(user).from_http(::nghttp3_conn_add_ack_offset(of(user).http_, id, size));
        };
        it.stream_close = [](ngtcp2_conn* quic, uint32_t flags, int64_t id, uint64_t code, void* user, void*) {
            Connection& self = of(user);
            if ((flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET) == 0) code = NGHTTP3_H3_NO_ERROR;
            const int error = ::nghttp3_conn_close_stream(self.http_, id, code);
            self.streams_.erase(id);
            if (::ngtcp2_is_bidi_stream(id)) ::ngtcp2_conn_extend_max_streams_bidi(quic, 1);
            // Nothing of a stream may have come but its reset.
            return error == NGHTTP3_ERR_STREAM_NOT_FOUND ? 0 : self.from_http(error);
        };
        it.stream_reset = [](ngtcp2_conn*, int64_t id, uint64_t, uint64_t, void* user, void*) {
            return of(user).from_http(::nghttp3_conn_shutdown_stream_read(of(user).http_, id));
        };
        it.stream_stop_sending = [](ngtcp2_conn*, int64_t id, uint64_t, void* user, void*) {
            return of(user).from_http(::nghttp3_conn_shutdown_stream_read(of(user).http_, id));
        };
        it.extend_max_remote_streams_bidi = [](ngtcp2_conn*, uint64_t most, void* user) {
            ::nghttp3_conn_set_max_client_streams_bidi(of(user).http_, most);
            return 0;
        };
        it.extend_max_stream_data = [](ngtcp2_conn*, int64_t id, uint64_t, void* user, void*) {
            return of(user).from_http(::nghttp3_conn_unblock_stream(of(user).http_, id));
        };
        return it;
    }();
    return callbacks;
}

const nghttp3_callbacks& Connection::http_callbacks() {
    static const nghttp3_callbacks callbacks = [] {
        nghttp3_callbacks it{};
        it.recv_header = [](nghttp3_conn*, int64_t id, int32_t token, nghttp3_rcbuf*, nghttp3_rcbuf* value, uint8_t,
                            void* user, void*) {
            if (token == NGHTTP3_QPACK_TOKEN__METHOD || token == NGHTTP3_QPACK_TOKEN__PATH) {
                const nghttp3_vec bytes = ::nghttp3_rcbuf_get_buf(value);
                Stream& stream = of(user).streams_[id];
                std::string& to = token == NGHTTP3_QPACK_TOKEN__METHOD ? stream.method : stream.path;
                to.assign(reinterpret_cast<const char*>(bytes.base), bytes.len);
            }
            return 0;
        };
        it.recv_data = [](nghttp3_conn*, int64_t id, const uint8_t*, size_t size, void* user, void*) {
            of(user).consumed(id, size);
            return 0;
        };
        it.deferred_consume = [](nghttp3_conn*, int64_t id, size_t size, void* user, void*) {
            of(user).consumed(id, size);
            return 0;
        };
        it.end_stream = [](nghttp3_conn*, int64_t id, void* user, void*) {
            return of(user).answer(id) == 0 ? 0 : NGHTTP3_ERR_CALLBACK_FAILURE;
        };
        it.stop_sending = [](nghttp3_conn*, int64_t id, uint64_t code, void* user, void*) {
            const int error = ::ngtcp2_conn_shutdown_stream_read(of(user).quic_, id, code);
            return error == 0 ? 0 : NGHTTP3_ERR_CALLBACK_FAILURE;
        };
        it.reset_stream = [](nghttp3_conn*, int64_t id, uint64_t code, void* user, void*) {
            const int error = ::ngtcp2_conn_shutdown_stream_write(of(user).quic_, id, code);
            return error == 0 ? 0 : NGHTTP3_ERR_CALLBACK_FAILURE;
        };
        return it;
    }();
    return callbacks;
}

bool Connection::read(const ngtcp2_path& path, const uint8_t* data, size_t size) {
    const int error = ::ngtcp2_conn_read_pkt(quic_, &path, nullptr, data, size, now());
    switch (error) {
        case 0:
            return true;
        case NGTCP2_ERR_DRAINING:  // the client has closed it
        case NGTCP2_ERR_DROP_CONN:
        case NGTCP2_ERR_RETRY:  // this server asks for none
            return false;
        default:
            return fail(error);
    }
}

bool Connection::write() {
    // For all connections: it is empty whenever one is left.
    static uint8_t buffer[kBatch];
    const ngtcp2_tstamp time = now();
    const size_t longest = ::ngtcp2_conn_get_path_max_tx_udp_payload_size(quic_);
    // What the pace allows at once.
    const size_t most = std::min(::ngtcp2_conn_get_send_quantum(quic_), kMostSegments * longest);
    ngtcp2_path_storage path, last;
    ::ngtcp2_path_storage_zero(&path);
    ::ngtcp2_path_storage_zero(&last);
    size_t filled = 0, segment = 0, written = 0;
    const auto flush = [&] {
        if (filled > 0) server_.send(last.path.remote, buffer, filled, segment);
        filled = 0;
    };
    while (written < most) {
        if (filled + longest > kBatch) flush();
        int64_t id = -1;
        int end = 0;
        nghttp3_vec parts[16];
        nghttp3_ssize count = 0;
        if (http_ != nullptr && ::ngtcp2_conn_get_max_data_left(quic_) > 0) {
            count = ::nghttp3_conn_writev_stream(http_, &id, &end, parts, std::size(parts));
            if (count < 0) return fail(from_http(static_cast<int>(count)));
        }
        const uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_MORE | (end != 0 ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0);
        ngtcp2_ssize taken = -1;
        const ngtcp2_ssize size =
            ::ngtcp2_conn_writev_stream(quic_, &path.path, nullptr, buffer + filled, longest, &taken, flags, id,
                                        reinterpret_cast<const ngtcp2_vec*>(parts), count, time);
        if (taken >= 0) {
            const int error = ::nghttp3_conn_add_write_offset(http_, id, taken);
            if (error != 0) return fail(from_http(error));
        }
        if (size == NGTCP2_ERR_WRITE_MORE) continue;
        if (size == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
            ::nghttp3_conn_block_stream(http_, id);
            continue;
        }
        if (size == NGTCP2_ERR_STREAM_SHUT_WR) {
            ::nghttp3_conn_shutdown_stream_write(http_, id);
            continue;
        }
        if (size < 0) return fail(static_cast<int>(size));
        if (size == 0) break;
        written += size;
        // What goes out together has one address, and one size but for its last datagram.
        const size_t packet = size;
        if (filled > 0 && (packet > segment || ::ngtcp2_path_eq(&path.path, &last.path) == 0)) {
            const size_t before = filled;
            flush();
            server_.send(path.path.remote, buffer + before, packet, packet);
            continue;
        }
        if (filled == 0) {
            segment = packet;
            ::ngtcp2_path_copy(&last.path, &path.path);
        }
        filled += packet;
        if (packet < segment) flush();
    }
    flush();
    ::ngtcp2_conn_update_pkt_tx_time(quic_, time);

    const ngtcp2_tstamp expiry = ::ngtcp2_conn_get_expiry(quic_);
    if (expiry == UINT64_MAX) {
        timer_.stop();
    } else {
        // Never 0, which stands for no time-out.
        timer_.repeat = expiry > time ? static_cast<double>(expiry - time) / NGTCP2_SECONDS : 1e-6;
        timer_.again();
    }
    return true;
}

void Connection::timed_out() {
    const int error = ::ngtcp2_conn_handle_expiry(quic_, now());
    const bool goes_on = error == 0 ? write() : fail(error);
    if (!goes_on) delete this;
}

// Tells the client what has ended the connection.
bool Connection::fail(int error) {
    // The handshake has taken too long: there is nobody to be told.
    if (error == NGTCP2_ERR_IDLE_CLOSE || error == NGTCP2_ERR_HANDSHAKE_TIMEOUT) return false;
    ngtcp2_connection_close_error reason;
    ::ngtcp2_connection_close_error_default(&reason);
    if (http_error_ != 0) {
        const uint64_t code = ::nghttp3_err_infer_quic_app_error_code(http_error_);
        ::ngtcp2_connection_close_error_set_application_error(&reason, code, nullptr, 0);
    } else if (error == NGTCP2_ERR_CRYPTO) {
        const uint8_t alert = ::ngtcp2_conn_get_tls_alert(quic_);
        ::ngtcp2_connection_close_error_set_transport_error_tls_alert(&reason, alert, nullptr, 0);
    } else {
        ::ngtcp2_connection_close_error_set_transport_error_liberr(&reason, error, nullptr, 0);
    }
    uint8_t packet[NGTCP2_MAX_UDP_PAYLOAD_SIZE];
    ngtcp2_path_storage path;
    ::ngtcp2_path_storage_zero(&path);
    const ngtcp2_ssize size = ::ngtcp2_conn_write_connection_close(quic_, &path.path, nullptr, packet, sizeof packet,
                                                                   &reason, now());
    if (size > 0) server_.send(path.path.remote, packet, size, size);
    return false;
}

Server::Server(int fd, const Credentials& credentials) : credentials(credentials), fd_(fd) {
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address_), &address_length_);
    watcher_.set<Server, &Server::readable>(this);
    watcher_.start(fd, ev::READ);
}

void Server::readable() {
    for (int i = 0; i < kReads && receive(); ++i) {
    }
    // One answers for all that has come.
    for (Connection* connection : std::exchange(touched, {})) {
        if (!connection->write()) delete connection;
    }
}

// Takes in what one call gives: datagrams of one client, of the same size but for the last.
bool Server::receive() {
    static uint8_t buffer[kBatch];
    sockaddr_storage from{};
    iovec part{buffer, sizeof buffer};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = ::recvmsg(fd_, &message, MSG_DONTWAIT);
    if (size < 0) return false;
    size_t segment = size;
    for (cmsghdr* it = CMSG_FIRSTHDR(&message); it != nullptr; it = CMSG_NXTHDR(&message, it)) {
        if (it->cmsg_level == SOL_UDP && it->cmsg_type == UDP_GRO) {
            int value = 0;
            std::memcpy(&value, CMSG_DATA(it), sizeof value);
            segment = value;
        }
    }
    ngtcp2_path path{};
    path.local = {reinterpret_cast<sockaddr*>(&address_), address_length_};
    path.remote = {reinterpret_cast<sockaddr*>(&from), message.msg_namelen};
    for (size_t at = 0; at < static_cast<size_t>(size); at += segment) {
        datagram(path, buffer + at, std::min(segment, size - at));
    }
    return true;
}

void Server::datagram(const ngtcp2_path& path, uint8_t* data, size_t size) {
    ngtcp2_version_cid to{};
    const int error = ::ngtcp2_pkt_decode_version_cid(&to, data, size, kIdLength);
    if (error == NGTCP2_ERR_VERSION_NEGOTIATION) return refuse_version(path, to);
    if (error != 0) return;
    const auto known = connections.find(std::string(reinterpret_cast<const char*>(to.dcid), to.dcidlen));
    Connection* connection = nullptr;
    if (known != connections.end()) {
        connection = known->second;
    } else {
        ngtcp2_pkt_hd first;
        if (::ngtcp2_accept(&first, data, size) != 0) return;
        connection = new Connection(*this, first, path);
        if (!connection->works()) return delete connection;
    }
    if (!connection->read(path, data, size)) return delete connection;
    if (std::find(touched.begin(), touched.end(), connection) == touched.end()) touched.push_back(connection);
}

void Server::refuse_version(const ngtcp2_path& path, const ngtcp2_version_cid& asked) {
    const uint32_t known[] = {NGTCP2_PROTO_VER_V1};
    uint8_t packet[256], chance = 0;
    randomize(&chance, 1);
    const ngtcp2_ssize size = ::ngtcp2_pkt_write_version_negotiation(
        packet, sizeof packet, chance, asked.scid, asked.scidlen, asked.dcid, asked.dcidlen, known, std::size(known));
    if (size > 0) send(path.remote, packet, size, size);
}

void Server::send(const ngtcp2_addr& to, uint8_t* data, size_t size, size_t segment) {
    iovec part{data, size};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(uint16_t))]{};
    msghdr message{};
    message.msg_name = to.addr;
    message.msg_namelen = to.addrlen;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (size > segment) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* it = CMSG_FIRSTHDR(&message);
        it->cmsg_level = SOL_UDP;
        it->cmsg_type = UDP_SEGMENT;
        it->cmsg_len = CMSG_LEN(sizeof(uint16_t));
        const uint16_t value = segment;
        std::memcpy(CMSG_DATA(it), &value, sizeof value);
    }
    // What the kernel does not take is lost, as on a wire, and sent again.
    (void)::sendmsg(fd_, &message, MSG_NOSIGNAL);
}

int bind_to(const char* host, const char* port, bool share_port) {
    const std::string where = std::string("cannot listen on ") + host + ", port " + port;
    addrinfo hints{}, *address = nullptr;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_DGRAM;
    if (const int error = ::getaddrinfo(host, port, &hints, &address)) die(where, ::gai_strerror(error));
    const int fd = ::socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) die(where);
    const int on = 1, bytes = 4 << 20;
    if (share_port) ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    ::setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on);
    // As far as the machine allows: all connections have but this one.
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (::bind(fd, address->ai_addr, address->ai_addrlen) < 0) die(where);
    ::freeaddrinfo(address);
    return fd;
}

// One socket for each worker, between which the kernel spreads the connections.
std::vector<int> listen_on(const char* host, const char* port, int workers) {
    // SO_REUSEPORT would let us join a port that another server of ours holds, so a bind
    // without it comes first.
    std::vector<int> sockets{bind_to(host, port, false)};
    if (workers > 1) {
        ::close(sockets[0]);
        sockets.resize(workers);
        for (int& socket : sockets) socket = bind_to(host, port, true);
    }
    return sockets;
}

// Forks until there are `workers` processes; returns this one's number, 0 in the parent.
int fork_workers(int workers) {
    const pid_t parent = ::getpid();
    for (int i = 1; i < workers; ++i) {
        const pid_t child = ::fork();
        if (child < 0) die("fork");
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (::getppid() != parent) std::exit(1);  // it died before the line above
            return i;
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const int workers = argc > 3 ? std::atoi(argv[3]) : 0;
    if (argc != 6 || workers < 1) {
        std::fprintf(stderr, "usage: %s HOST PORT WORKERS CERT KEY\n", argv[0]);
        return 2;
    }
    // Made before the fork: a ticket of one worker is good for all.
    const Credentials credentials(argv[4], argv[5]);
    const std::vector<int> sockets = listen_on(argv[1], argv[2], workers);
    const int mine = fork_workers(workers);
    for (int i = 0; i < workers; ++i) {
        if (i != mine) ::close(sockets[i]);
    }
    ev::default_loop loop;  // made after the fork: nothing of it is shared
    Server server(sockets[mine], credentials);
    loop.run();
}
