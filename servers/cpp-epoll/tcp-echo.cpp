#include "event_loop.hpp"

struct Echo {
    std::string_view answer(std::string_view input) { return input; }
    After after() const { return After::read_on; }
};

int main(int argc, char** argv) { return serve_main<Echo>(argc, argv); }
