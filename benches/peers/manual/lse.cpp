// lse: f(x) = a + log(sum_i exp(x_i - a)), a = max(x).
//
// The gradient is exp(x_i - a) / sum_j exp(x_j - a): what comes through the maximum cancels.

#include <algorithm>

#include "peer.hpp"

namespace {

double maximum(const std::vector<double> &x) {
    double a = x[0];
#pragma omp parallel for simd reduction(max : a)
    for (std::size_t i = 0; i < x.size(); ++i) a = std::max(a, x[i]);
    return a;
}

double value(const std::vector<double> &x) {
    const double a = maximum(x);
    double sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (std::size_t i = 0; i < x.size(); ++i) sum += std::exp(x[i] - a);
    return a + std::log(sum);
}

std::vector<double> gradient(const std::vector<double> &x) {
    const double a = maximum(x);
    std::vector<double> g(x.size());
    double sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (std::size_t i = 0; i < x.size(); ++i) sum += g[i] = std::exp(x[i] - a);
    const double scale = 1 / sum;
#pragma omp parallel for simd
    for (std::size_t i = 0; i < x.size(); ++i) g[i] *= scale;
    return g;
}

std::vector<double> read(const json::Value &input) {
    std::vector<double> x = input.at("x").numbers();
    if (x.empty()) throw std::runtime_error("expected at least one number");
    return x;
}

} // namespace

int main(int count, char **arguments) {
    return peer::serve(count, arguments, "lse",
                       {
                           {"primal", [](const json::Value &input) { return peer::number([x = read(input)] { return value(x); }); }},
                           {"gradient", [](const json::Value &input) { return peer::list([x = read(input)] { return gradient(x); }); }},
                       });
}
