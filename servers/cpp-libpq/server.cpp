// The techempower contract on Boost.Beast, libpq in pipeline mode and ctemplate: server HOST PORT WORKERS TEMPLATES
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// Boost 1.74 uses std::exchange without including it.
#include <utility>

#include <ctemplate/template.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "database.hpp"

namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr int kWorlds = 10'000;

struct World {
    int id, randomNumber;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(World, id, randomNumber)

int random_id() {
    static std::mt19937 engine(std::random_device{}());
    return std::uniform_int_distribution(1, kWorlds)(engine);
}

// Distinct ones, ascending.
std::set<int> random_ids(size_t count) {
    std::set<int> ids;
    while (ids.size() < count) ids.insert(random_id());
    return ids;
}

// The parameter within 1 and 500; 1 when it is not a number.
int number(std::string_view query, std::string_view name) {
    while (!query.empty()) {
        const auto pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        if (pair.substr(0, pair.find('=')) != name || pair.size() == name.size()) continue;
        int value = 1;
        const auto text = pair.substr(name.size() + 1);
        std::from_chars(text.data(), text.data() + text.size(), value);
        return std::clamp(value, 1, 500);
    }
    return 1;
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

World world(const Result& result, int row) { return {integer(result, row, 0), integer(result, row, 1)}; }

// Each row by a statement of its own; all of them are sent before a result is awaited.
asio::awaitable<std::vector<World>> select_worlds(Database& database, std::set<int> ids) {
    std::vector<Statement> statements;
    for (int id : ids) statements.push_back({"world", {std::to_string(id)}});
    const auto results = co_await database.run(std::move(statements));
    std::vector<World> worlds;
    for (const auto& result : results) worlds.push_back(world(result, 0));
    co_return worlds;
}

asio::awaitable<std::vector<World>> update_worlds(Database& database, int count) {
    auto worlds = co_await select_worlds(database, random_ids(count));
    std::string ids = "{", numbers = "{";
    for (auto& world : worlds) {
        world.randomNumber = random_id();
        const char* comma = &world == &worlds.back() ? "}" : ",";
        ids += std::to_string(world.id) + comma;
        numbers += std::to_string(world.randomNumber) + comma;
    }
    std::vector<Statement> update{{"update", {std::move(ids), std::move(numbers)}}};
    co_await database.run(std::move(update));
    co_return worlds;
}

// Read when they are first asked for.
asio::awaitable<std::vector<World>> cached_worlds(Database& database, int count) {
    static std::vector<World> cached;
    if (cached.empty()) {
        std::vector<Statement> all{{"cached", {}}};
        const auto results = co_await database.run(std::move(all));
        std::vector<World> worlds;
        for (int row = 0; row < PQntuples(results[0].get()); ++row) worlds.push_back(world(results[0], row));
        cached = std::move(worlds);
    }
    std::vector<World> worlds(count);
    for (auto& world : worlds) world = cached[random_id() - 1];
    co_return worlds;
}

asio::awaitable<std::string> fortunes(Database& database) {
    std::vector<Statement> all{{"fortunes", {}}};
    const auto results = co_await database.run(std::move(all));
    std::vector<std::pair<std::string, int>> rows{{"Additional fortune added at request time.", 0}};
    for (int row = 0; row < PQntuples(results[0].get()); ++row) {
        rows.emplace_back(PQgetvalue(results[0].get(), row, 1), integer(results[0], row, 0));
    }
    std::sort(rows.begin(), rows.end());
    ctemplate::TemplateDictionary dictionary("fortunes");
    for (const auto& [message, id] : rows) {
        auto* section = dictionary.AddSectionDictionary("FORTUNE");
        section->SetIntValue("ID", id);
        section->SetValue("MESSAGE", message);
    }
    std::string page;
    ctemplate::ExpandTemplate("fortunes.tpl", ctemplate::STRIP_BLANK_LINES, &dictionary, &page);
    co_return page;
}

using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

asio::awaitable<void> answer(Database& database, std::string_view target, Response& response) {
    const auto mark = std::min(target.find('?'), target.size());
    const auto path = target.substr(0, mark);
    const auto query = target.substr(std::min(mark + 1, target.size()));
    nlohmann::json json;
    if (path == "/plaintext") {
        response.set(http::field::content_type, "text/plain");
        response.body() = "Hello, World!";
        co_return;
    }
    if (path == "/fortunes") {
        response.set(http::field::content_type, "text/html; charset=utf-8");
        response.body() = co_await fortunes(database);
        co_return;
    }
    if (path == "/json") {
        json["message"] = "Hello, World!";
    } else if (path == "/db") {
        json = (co_await select_worlds(database, random_ids(1)))[0];
    } else if (path == "/queries") {
        json = co_await select_worlds(database, random_ids(number(query, "queries")));
    } else if (path == "/updates") {
        json = co_await update_worlds(database, number(query, "queries"));
    } else if (path == "/cached-queries") {
        json = co_await cached_worlds(database, number(query, "count"));
    } else {
        response.result(http::status::not_found);
        co_return;
    }
    response.set(http::field::content_type, "application/json");
    response.body() = json.dump();
}

asio::awaitable<void> serve(tcp::socket socket, Database& database) {
    beast::flat_buffer buffer;
    try {
        for (;;) {
            Request request;
            co_await http::async_read(socket, buffer, request, use_awaitable);
            Response response(http::status::ok, request.version());
            response.keep_alive(request.keep_alive());
            response.set(http::field::server, "Boost.Beast");
            response.set(http::field::date, {date().data(), date().size()});
            try {
                co_await answer(database, {request.target().data(), request.target().size()}, response);
            } catch (const DatabaseError& error) {
                response.result(http::status::internal_server_error);
                response.body() = error.what();
            }
            response.prepare_payload();
            co_await http::async_write(socket, response, use_awaitable);
            if (!response.keep_alive()) co_return;
        }
    } catch (const boost::system::system_error&) {
        // The client has closed or broken the connection, or the protocol.
    }
}

asio::awaitable<void> accept(tcp::acceptor acceptor, Database& database) {
    for (;;) {
        boost::system::error_code error;
        auto token = asio::redirect_error(use_awaitable, error);
        tcp::socket socket = co_await acceptor.async_accept(token);
        // Out of descriptors, most likely: go on until a connection ends.
        if (!error) asio::co_spawn(acceptor.get_executor(), serve(std::move(socket), database), asio::detached);
    }
}

tcp::acceptor listen(asio::io_context& loop, const tcp::endpoint& where, bool share_port) {
    tcp::acceptor acceptor(loop);
    acceptor.open(where.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    if (share_port) {
        const int on = 1;
        ::setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    }
    // Accepted sockets inherit this.
    acceptor.set_option(tcp::no_delay(true));
    acceptor.bind(where);
    return acceptor;
}

void work(const tcp::endpoint& where, bool share_port, size_t connections) {
    asio::io_context loop(1);
    Database database(loop, connections);
    tcp::acceptor acceptor = listen(loop, where, share_port);
    acceptor.listen(4096);
    asio::co_spawn(loop, accept(std::move(acceptor), database), asio::detached);
    loop.run();
}

int main(int argc, char** argv) try {
    const char* most = std::getenv("DATABASE_MAX_CONN");
    if (argc != 5 || !most) {
        std::cerr << "usage: DATABASE_MAX_CONN=N server HOST PORT WORKERS TEMPLATES\n";
        return 2;
    }
    const tcp::endpoint where(asio::ip::make_address(argv[1]), std::atoi(argv[2]));
    const int workers = std::atoi(argv[3]);
    const size_t connections = std::max(std::atoi(most) / workers, 1);
    ctemplate::Template::SetTemplateRootDirectory(argv[4]);
    if (workers > 1) {
        // SO_REUSEPORT would let us join a port that another server of ours holds, so a bind without it comes first.
        {
            asio::io_context loop;
            listen(loop, where, false);
        }
        for (int i = 0; i < workers; ++i) {
            if (::fork() == 0) {
                ::prctl(PR_SET_PDEATHSIG, SIGTERM);
                work(where, true, connections);
            }
        }
        // The whole ends with the first that does.
        ::wait(nullptr);
        return 1;
    }
    work(where, false, connections);
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
