// GET /any/path -> "<path> at <date>", HTTP/1.0 and 1.1, keep-alive and pipelining.
//
// Requests are parsed where they were received; only an incomplete one is copied and parsed
// again when more of it arrives. All answers to one read go out in one write.
#include <strings.h>
#include <time.h>

#include <array>
#include <charconv>
#include <optional>

#include "event_loop.hpp"

namespace {

constexpr size_t kMaxHead = 16 * 1024;
constexpr uint64_t kMaxDiscard = 1 << 20;  // what a lingering connection may still send

constexpr std::array<bool, 256> kTokenChar = [] {
    std::array<bool, 256> set{};
    for (int c = '0'; c <= '9'; ++c) set[c] = true;
    for (int c = 'A'; c <= 'Z'; ++c) set[c] = set[c | 0x20] = true;
    for (char c : std::string_view("!#$%&'*+-.^_`|~")) set[static_cast<unsigned char>(c)] = true;
    return set;
}();

bool is_token(std::string_view s) {
    for (unsigned char c : s) {
        if (!kTokenChar[c]) return false;
    }
    return !s.empty();
}

bool is_target(std::string_view s) {
    for (unsigned char c : s) {
        if (c <= ' ' || c == 0x7f) return false;
    }
    return !s.empty();
}

bool is_field_value(std::string_view s) {
    for (unsigned char c : s) {
        if ((c < ' ' && c != '\t') || c == 0x7f) return false;
    }
    return true;
}

bool equals(std::string_view a, std::string_view lower) {
    return a.size() == lower.size() && ::strncasecmp(a.data(), lower.data(), a.size()) == 0;
}

std::string_view trim(std::string_view s) {
    const auto first = s.find_first_not_of(" \t");
    if (first == s.npos) return {};
    return s.substr(first, s.find_last_not_of(" \t") - first + 1);
}

bool list_has(std::string_view list, std::string_view token) {
    while (!list.empty()) {
        const auto comma = std::min(list.find(','), list.size());
        if (equals(trim(list.substr(0, comma)), token)) return true;
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return false;
}

enum class Status { incomplete, ok, bad_request, too_large, not_implemented };

struct Request {
    std::string_view method, target;
    bool http11 = false, keep_alive = false;
    uint64_t body = 0;   // bytes that follow the head
    size_t head = 0;     // bytes of the head itself
};

Status parse_field(std::string_view line, Request& request, int& hosts,
                   std::optional<uint64_t>& length) {
    const auto colon = line.find(':');
    if (colon == line.npos) return Status::bad_request;
    const auto name = line.substr(0, colon);
    const auto value = trim(line.substr(colon + 1));
    if (!is_token(name) || !is_field_value(value)) return Status::bad_request;
    switch (name.size()) {
    case 4:
        if (equals(name, "host")) ++hosts;
        break;
    case 10:
        if (!equals(name, "connection")) break;
        if (list_has(value, "close")) request.keep_alive = false;
        else if (list_has(value, "keep-alive")) request.keep_alive = true;
        break;
    case 14:
        if (equals(name, "content-length")) {
            uint64_t n = 0;
            const auto [end, error] = std::from_chars(value.begin(), value.end(), n);
            if (error != std::errc() || end != value.end()) return Status::bad_request;
            if (length.value_or(n) != n) return Status::bad_request;
            length = n;
        }
        break;
    case 17:
        if (equals(name, "transfer-encoding")) return Status::not_implemented;
        break;
    }
    return Status::ok;
}

Status parse_head(std::string_view input, Request& request) {
    int hosts = 0;
    std::optional<uint64_t> length;
    size_t at = 0;
    for (bool first = true;; first = false) {
        const auto newline = input.find('\n', at);
        if (newline == input.npos) return input.size() >= kMaxHead ? Status::too_large : Status::incomplete;
        if (newline >= kMaxHead) return Status::too_large;
        if (newline == at || input[newline - 1] != '\r') return Status::bad_request;
        const auto line = input.substr(at, newline - 1 - at);
        at = newline + 1;
        if (first) {
            constexpr size_t kVersion = sizeof " HTTP/1.1" - 1;
            const auto space = line.find(' ');
            if (space == line.npos || line.size() < space + 1 + kVersion) return Status::bad_request;
            const auto version = line.substr(line.size() - kVersion);
            request.method = line.substr(0, space);
            request.target = line.substr(space + 1, line.size() - kVersion - space - 1);
            request.http11 = request.keep_alive = version == " HTTP/1.1";
            if (!request.http11 && version != " HTTP/1.0") return Status::bad_request;
            if (!is_token(request.method) || !is_target(request.target)) return Status::bad_request;
        } else if (line.empty()) {
            if (hosts > 1 || (request.http11 && hosts == 0)) return Status::bad_request;
            request.body = length.value_or(0);
            request.head = at;
            return Status::ok;
        } else if (const auto status = parse_field(line, request, hosts, length); status != Status::ok) {
            return status;
        }
    }
}

// The time as an IMF-fixdate, formatted once a second.
std::string_view date() {
    static char text[30];
    static time_t shown = -1;
    const time_t now = ::time(nullptr);
    if (now != shown) {
        tm utc{};
        ::gmtime_r(&now, &utc);
        ::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
        shown = now;
    }
    return {text, 29};
}

void write_answer(std::string& out, const Request& request) {
    const auto when = date();
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, request.target.size() + 4 + when.size()).ptr;
    out += "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ";
    out.append(digits, end);
    if (!request.keep_alive) out += "\r\nConnection: close";
    else if (!request.http11) out += "\r\nConnection: keep-alive";
    out += "\r\n\r\n";
    if (request.method == "HEAD") return;
    out += request.target;
    out += " at ";
    out += when;
}

void write_refusal(std::string& out, Status status) {
    out += status == Status::too_large         ? "HTTP/1.1 431 Request Header Fields Too Large"
           : status == Status::not_implemented ? "HTTP/1.1 501 Not Implemented"
                                               : "HTTP/1.1 400 Bad Request";
    out += "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

class Http {
public:
    std::string_view answer(std::string_view input) {
        static std::string out;  // one thread; its size is bounded by what one read can ask for
        out.clear();
        if (after_ != After::read_on) {
            discard_ += input.size();
            if (discard_ > kMaxDiscard) after_ = After::close;
            return out;
        }
        if (!partial_.empty()) {
            partial_ += input;
            input = partial_;
        }
        while (after_ == After::read_on) {
            const auto skipped = std::min<uint64_t>(body_, input.size());
            input.remove_prefix(skipped);
            body_ -= skipped;
            while (input.substr(0, 2) == "\r\n") input.remove_prefix(2);  // RFC 9112, 2.2
            if (input.empty() || input == "\r") break;
            Request request;
            const auto status = parse_head(input, request);
            if (status == Status::incomplete) break;
            if (status == Status::ok) {
                write_answer(out, request);
                input.remove_prefix(request.head);
                body_ = request.body;
                // Closing with unread input would reset the connection: linger then.
                if (!request.keep_alive) after_ = input.empty() && !body_ ? After::close : After::linger;
            } else {
                write_refusal(out, status);
                after_ = After::linger;
            }
        }
        if (partial_.empty()) partial_.assign(input);
        else partial_.erase(0, partial_.size() - input.size());
        return out;
    }

    After after() const { return after_; }

private:
    std::string partial_;    // the beginning of a request whose end has not arrived
    uint64_t body_ = 0;      // bytes of a request's body still to be skipped
    uint64_t discard_ = 0;
    After after_ = After::read_on;
};

}  // namespace

int main(int argc, char** argv) { return serve_main<Http>(argc, argv); }
