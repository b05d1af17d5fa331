// llsq: f(x) = 1/2 sum_i r_i^2, r_i = s_i - sum_j x_j t_i^j, t_i = -1 + 2 i / (n - 1), s_i = sign(t_i).
//
// df/dx_j = -sum_i r_i t_i^j. Points go in blocks, over which the compiler vectorizes.

#include <algorithm>
#include <array>

#include "peer.hpp"

namespace {

constexpr std::size_t BLOCK = 64;
using Block = std::array<double, BLOCK>;

struct Question {
    std::vector<double> x;
    std::size_t n;
};

// The points of a block; the last block is filled up with zeros, which fit nothing.
Block points(std::size_t start, std::size_t n) {
    Block t{};
    for (std::size_t b = 0; b < std::min(BLOCK, n - start); ++b) t[b] = -1.0 + 2.0 * (start + b) / (n - 1.0);
    return t;
}

// Their residuals: Horner's rule.
Block residuals(const std::vector<double> &x, const Block &t, std::size_t start, std::size_t n) {
    Block fit{};
    for (std::size_t j = x.size(); j-- > 0;)
        for (std::size_t b = 0; b < BLOCK; ++b) fit[b] = fit[b] * t[b] + x[j];
    for (std::size_t b = 0; b < BLOCK; ++b)
        fit[b] = start + b < n ? (t[b] > 0) - (t[b] < 0) - fit[b] : 0.0;
    return fit;
}

double value(const Question &q) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (std::size_t start = 0; start < q.n; start += BLOCK) {
        const Block r = residuals(q.x, points(start, q.n), start, q.n);
        for (std::size_t b = 0; b < BLOCK; ++b) sum += r[b] * r[b];
    }
    return 0.5 * sum;
}

std::vector<double> gradient(const Question &q) {
    const std::size_t m = q.x.size();
    std::vector<double> g(m);
#pragma omp parallel
    {
        std::vector<double> own(m);
#pragma omp for
        for (std::size_t start = 0; start < q.n; start += BLOCK) {
            const Block t = points(start, q.n);
            // The residuals times the powers of the points.
            Block p = residuals(q.x, t, start, q.n);
            for (std::size_t j = 0; j < m; ++j) {
                double sum = 0;
                for (std::size_t b = 0; b < BLOCK; ++b) {
                    sum += p[b];
                    p[b] *= t[b];
                }
                own[j] -= sum;
            }
        }
#pragma omp critical
        for (std::size_t j = 0; j < m; ++j) g[j] += own[j];
    }
    return g;
}

Question read(const json::Value &input) { return {input.at("x").numbers(), input.at("n").size()}; }

} // namespace

int main(int count, char **arguments) {
    return peer::serve(count, arguments, "llsq",
                       {
                           {"primal", [](const json::Value &input) { return peer::number([q = read(input)] { return value(q); }); }},
                           {"gradient", [](const json::Value &input) { return peer::list([q = read(input)] { return gradient(q); }); }},
                       });
}
