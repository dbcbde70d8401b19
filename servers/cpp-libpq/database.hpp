// A pool of connections of libpq in pipeline mode, for one event loop.
#pragma once

#include <libpq-fe.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdlib>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using asio::use_awaitable;

struct DatabaseError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Statement {
    const char* name;  // of a prepared one
    std::vector<std::string> values;
};

struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
    void operator()(PGconn* connection) const { PQfinish(connection); }
};
using Result = std::unique_ptr<PGresult, Clear>;
using Results = std::vector<Result>;

inline int integer(const Result& result, int row, int column) {
    return std::atoi(PQgetvalue(result.get(), row, column));
}

// Statements up to a Sync, and whoever waits for their results.
class Job {
public:
    Job(asio::io_context& loop, std::vector<Statement> statements)
        : statements(std::move(statements)), finished_(loop, asio::steady_timer::time_point::max()) {}

    void finish(std::string failure) {
        done_ = true;
        if (error.empty()) error = std::move(failure);
        finished_.cancel();
    }

    asio::awaitable<void> wait() {
        boost::system::error_code cancelled;
        if (!done_) co_await finished_.async_wait(asio::redirect_error(use_awaitable, cancelled));
        if (!error.empty()) throw DatabaseError(error);
    }

    const std::vector<Statement> statements;
    Results results;
    std::string error;

private:
    asio::steady_timer finished_;
    bool done_ = false;
};

class Connection {
public:
    explicit Connection(asio::io_context& loop) : loop_(loop), socket_(loop) {}

    ~Connection() {
        // The descriptor is libpq's.
        if (socket_.is_open()) socket_.release();
    }

    size_t load() const { return waiting_.size(); }
    bool broken() const { return broken_; }

    // Jobs that come before the connection is open are sent once it is.
    void add(std::shared_ptr<Job> job) {
        waiting_.push_back(job);
        if (open_) send(*job);
    }

    // Opens the connection, then reads results until it breaks.
    static asio::awaitable<void> live(std::shared_ptr<Connection> self) {
        std::string failure;
        try {
            co_await self->open();
            for (;;) co_await self->read();
        } catch (const std::exception& error) {
            failure = error.what();
        }
        self->broken_ = true;
        for (auto& job : self->waiting_) job->finish(failure);
        self->waiting_.clear();
    }

private:
    using Wait = asio::posix::stream_descriptor::wait_type;

    [[noreturn]] void fail() const { throw DatabaseError(PQerrorMessage(connection_.get())); }

    asio::awaitable<void> open() {
        connection_.reset(PQconnectStart(std::getenv("DATABASE_URL")));
        for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;
             state = PQconnectPoll(connection_.get())) {
            if (state == PGRES_POLLING_FAILED || PQstatus(connection_.get()) == CONNECTION_BAD) fail();
            // It may take another socket for another address.
            socket_.assign(PQsocket(connection_.get()));
            co_await socket_.async_wait(
                state == PGRES_POLLING_READING ? Wait::wait_read : Wait::wait_write, use_awaitable);
            socket_.release();
        }
        socket_.assign(PQsocket(connection_.get()));
        PQsetnonblocking(connection_.get(), 1);
        PQenterPipelineMode(connection_.get());
        prepare("world", "SELECT id, randomnumber FROM world WHERE id = $1");
        prepare("cached", "SELECT id, randomnumber FROM cachedworld");
        prepare("fortunes", "SELECT id, message FROM fortune");
        // The planner keeps the order of the arrays, so that rows are locked by ascending id.
        prepare("update",
                "UPDATE world SET randomnumber = new.number "
                "FROM unnest($1::int[], $2::int[]) AS new (id, number) WHERE world.id = new.id");
        auto prepared = std::make_shared<Job>(loop_, std::vector<Statement>{});
        waiting_.push_front(prepared);
        open_ = true;
        for (const auto& job : waiting_) send(*job);
    }

    void prepare(const char* name, const char* text) {
        if (!PQsendPrepare(connection_.get(), name, text, 0, nullptr)) fail();
    }

    void send(const Job& job) {
        for (const auto& statement : job.statements) {
            std::vector<const char*> values;
            for (const auto& value : statement.values) values.push_back(value.c_str());
            PQsendQueryPrepared(connection_.get(), statement.name, values.size(), values.data(), nullptr, nullptr, 0);
        }
        // An error comes with the results.
        PQpipelineSync(connection_.get());
        flush();
    }

    // What the socket does not take is sent once it does.
    void flush() {
        if (PQflush(connection_.get()) != 1 || flushing_) return;
        flushing_ = true;
        socket_.async_wait(Wait::wait_write, [this](boost::system::error_code error) {
            if (error) return;
            flushing_ = false;
            flush();
        });
    }

    asio::awaitable<void> read() {
        co_await socket_.async_wait(Wait::wait_read, use_awaitable);
        if (!PQconsumeInput(connection_.get())) fail();
        while (!waiting_.empty() && !PQisBusy(connection_.get())) {
            Result result(PQgetResult(connection_.get()));
            // Null stands between the results of two statements.
            if (!result) continue;
            Job& job = *waiting_.front();
            switch (PQresultStatus(result.get())) {
            case PGRES_PIPELINE_SYNC:
                job.finish({});
                waiting_.pop_front();
                break;
            case PGRES_TUPLES_OK:
            case PGRES_COMMAND_OK:
                job.results.push_back(std::move(result));
                break;
            default:
                if (job.error.empty()) job.error = PQresultErrorMessage(result.get());
            }
        }
    }

    asio::io_context& loop_;
    std::unique_ptr<PGconn, Clear> connection_;
    asio::posix::stream_descriptor socket_;
    std::deque<std::shared_ptr<Job>> waiting_;
    bool open_ = false, broken_ = false, flushing_ = false;
};

class Database {
public:
    Database(asio::io_context& loop, size_t most) : loop_(loop), most_(most) {}

    // Sends the statements over the connection with the least work, a new one if all have some.
    asio::awaitable<Results> run(std::vector<Statement> statements) {
        auto job = std::make_shared<Job>(loop_, std::move(statements));
        least().add(job);
        co_await job->wait();
        co_return std::move(job->results);
    }

private:
    Connection& least() {
        std::erase_if(connections_, [](const auto& connection) { return connection->broken(); });
        const auto less = [](const auto& a, const auto& b) { return a->load() < b->load(); };
        const auto found = std::min_element(connections_.begin(), connections_.end(), less);
        if (found != connections_.end() && ((*found)->load() == 0 || connections_.size() == most_)) return **found;
        auto connection = connections_.emplace_back(std::make_shared<Connection>(loop_));
        asio::co_spawn(loop_, Connection::live(connection), asio::detached);
        return *connection;
    }

    asio::io_context& loop_;
    const size_t most_;
    std::vector<std::shared_ptr<Connection>> connections_;
};
