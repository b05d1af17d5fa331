// GradBench's protocol for a program that has the functions of one problem.
#pragma once

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <omp.h>

#include "json.hpp"

namespace peer {

// A function together with its input: what runs it, and what writes its last result.
struct Task {
    std::function<void()> run;
    std::function<void(std::string &)> write;
};

using Functions = std::map<std::string, std::function<Task(const json::Value &)>>;

// The last run's output, and how long each run took.
inline void evaluate(const Functions &functions, const json::Value &message, std::string &out) {
    const std::string &name = message.at("function").string();
    auto function = functions.find(name);
    if (function == functions.end()) throw std::runtime_error("there is no function `" + name + "`");
    const json::Value &input = message.at("input");
    const json::Value *runs = input.find("min_runs"), *seconds = input.find("min_seconds");
    const double least_runs = runs ? runs->number() : 1, least_seconds = seconds ? seconds->number() : 0;
    Task task = function->second(input);
    std::string timings;
    double elapsed = 0;
    for (double count = 0; count == 0 || count < least_runs || elapsed < least_seconds; ++count) {
        auto start = std::chrono::steady_clock::now();
        task.run();
        std::chrono::nanoseconds time = std::chrono::steady_clock::now() - start;
        elapsed += time.count() * 1e-9;
        if (count) timings += ',';
        timings += "{\"name\":\"evaluate\",\"nanoseconds\":" + std::to_string(time.count()) + "}";
    }
    out += ",\"success\":true,\"output\":";
    task.write(out);
    out += ",\"timings\":[" + timings + "]";
}

inline std::string respond(const std::string &module, const Functions &functions, const json::Value &message) {
    const std::string &kind = message.at("kind").string();
    std::string out = "{\"id\":" + std::to_string(static_cast<long long>(message.at("id").number()));
    if (kind == "start") {
        out += ",\"tool\":\"manual\"";
    } else if (kind == "define" || kind == "evaluate") {
        std::string fields;
        try {
            const std::string &asked = message.at("module").string();
            if (asked != module) throw std::runtime_error("there is no module `" + asked + "`");
            if (kind == "define")
                fields = ",\"success\":true";
            else
                evaluate(functions, message, fields);
        } catch (const std::exception &error) {
            fields = ",\"success\":false,\"error\":";
            json::write_text(fields, error.what());
        }
        out += fields;
    }
    return out + "}";
}

// Answers messages until there are no more. The arguments are `[--threads N]`, one if not told otherwise.
inline int serve(int count, char **arguments, const std::string &module, const Functions &functions) {
    int threads = 1;
    if (count == 3 && std::string(arguments[1]) == "--threads") threads = std::atoi(arguments[2]);
    if ((count != 1 && count != 3) || threads < 1) {
        std::cerr << "usage: " << module << " [--threads N]\n";
        return 1;
    }
    omp_set_num_threads(threads);
    std::ios::sync_with_stdio(false);
    std::string line;
    try {
        while (std::getline(std::cin, line)) {
            std::string response = respond(module, functions, json::Reader(line).whole());
            std::cout << response << std::endl;
        }
    } catch (const std::exception &error) {
        std::cerr << module << ": " << error.what() << "\n";
        return 1;
    }
    return 0;
}

// A task whose result is one number.
inline Task number(std::function<double()> function) {
    auto result = std::make_shared<double>();
    return {[=] { *result = function(); }, [=](std::string &out) { json::write(out, *result); }};
}

// A task whose result is a list.
inline Task list(std::function<std::vector<double>()> function) {
    auto result = std::make_shared<std::vector<double>>();
    return {[=] { *result = function(); }, [=](std::string &out) { json::write(out, *result); }};
}

} // namespace peer
