// gmm: the logarithm of a Gaussian mixture's posterior with a Wishart prior.
//
//   Q_k       lower triangular, diagonal exp(q_k), below it l_k column by column
//   beta_ik = alpha_k + sum_j q_kj - 1/2 |Q_k (x_i - mu_k)|^2
//   F       = -1/2 n d log(2 pi) + sum_i lse_k(beta_ik) - n lse(alpha)
//             - sum_k (1/2 gamma^2 |Q_k|^2 - m sum_j q_kj) + K (v d (log(gamma) - 1/2 log 2) - lgamma_d(v / 2)), v = d + m + 1
//
// With delta = x_i - mu_k, u = Q_k delta, r_ik = softmax_k(beta_ik), R_k = sum_i r_ik and G_k = sum_i r_ik u delta^T:
//
//   dF/dalpha_k = R_k - n softmax(alpha)_k                            dF/dmu_k = Q_k^T sum_i r_ik u
//   dF/dq_kj    = R_k - (G_k)_jj exp(q_kj) - gamma^2 exp(2 q_kj) + m
//   dF/dl_k     = -G_k - gamma^2 l_k                                  (below the diagonal)
//
// Points go in blocks, of which u and G are products of small matrices; their columns are filled up with zeros to whole tiles.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "peer.hpp"

namespace {

using Vector = double __attribute__((vector_size(64)));
constexpr std::size_t LANES = 8, TILE_ROWS = 4, TILE = 2 * LANES, BLOCK = 32;

struct Question {
    std::size_t d, k, n, below, width; // the width is d, filled up
    double gamma, m;
    std::vector<double> x, alpha, mu, q, l;
};

struct Gradient {
    std::vector<double> alpha, mu, q, l;
};

Vector load(const double *from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

// C += A B for a tile of C; A's elements lie apart by `row` and `column`, C's and B's rows by `width`.
void product(double *c, const double *a, std::size_t row, std::size_t column, const double *b, std::size_t width, std::size_t count) {
    Vector sums[TILE_ROWS][2];
    for (std::size_t r = 0; r < TILE_ROWS; ++r)
        for (int v = 0; v < 2; ++v) sums[r][v] = load(c + r * width + v * LANES);
    for (std::size_t t = 0; t < count; ++t, a += column, b += width) {
        const Vector first = load(b), second = load(b + LANES);
        for (std::size_t r = 0; r < TILE_ROWS; ++r) {
            sums[r][0] += a[r * row] * first;
            sums[r][1] += a[r * row] * second;
        }
    }
    for (std::size_t r = 0; r < TILE_ROWS; ++r) std::memcpy(c + r * width, sums[r], sizeof sums[r]);
}

double logsumexp(const double *x, std::size_t count) {
    double most = x[0], sum = 0;
    for (std::size_t i = 0; i < count; ++i) most = std::max(most, x[i]);
    for (std::size_t i = 0; i < count; ++i) sum += std::exp(x[i] - most);
    return most + std::log(sum);
}

// What depends on the components alone: the columns of Q_k, exp(q), and alpha_k + sum_j q_kj.
struct Components {
    std::vector<double> columns, diagonals, offsets;

    explicit Components(const Question &a) : columns(a.k * a.d * a.width), diagonals(a.q.size()), offsets(a.alpha) {
        for (std::size_t i = 0; i < a.q.size(); ++i) diagonals[i] = std::exp(a.q[i]);
        const double *l = a.l.data();
        double *column = columns.data();
        for (std::size_t k = 0; k < a.k; ++k)
            for (std::size_t j = 0; j < a.d; l += a.d - 1 - j, ++j, column += a.width) {
                offsets[k] += a.q[k * a.d + j];
                column[j] = diagonals[k * a.d + j];
                std::copy(l, l + (a.d - 1 - j), column + j + 1);
            }
    }
};

// The deltas of a block's points from a component, a row for each point.
void differences(const Question &a, std::size_t start, std::size_t count, std::size_t k, double *delta) {
    for (std::size_t p = 0; p < count; ++p)
        for (std::size_t j = 0; j < a.d; ++j) delta[p * a.width + j] = a.x[(start + p) * a.d + j] - a.mu[k * a.d + j];
}

// u of a block's points, a row for each, from their deltas.
void transformed(const Question &a, const Components &of, std::size_t count, std::size_t k, const double *delta, double *u) {
    const std::size_t w = a.width;
    std::fill(u, u + BLOCK * w, 0.0);
    for (std::size_t i = 0; i < w; i += TILE)
        for (std::size_t p = 0; p < count; p += TILE_ROWS)
            product(u + p * w + i, delta + p * w, w, 1, &of.columns[k * a.d * w + i], w, std::min(i + TILE, a.d));
}

// beta of a block's points, a row for each, from their u.
void exponents(const Question &a, const Components &of, std::size_t count, std::size_t k, const double *u, double *beta) {
    for (std::size_t p = 0; p < count; ++p) {
        double squares = 0;
        for (std::size_t i = 0; i < a.width; ++i) squares += u[p * a.width + i] * u[p * a.width + i];
        beta[p * a.k + k] = of.offsets[k] - 0.5 * squares;
    }
}

double value(const Question &a) {
    const Components of(a);
    double sum = 0;
#pragma omp parallel
    {
        std::vector<double> delta(BLOCK * a.width), u(BLOCK * a.width), beta(BLOCK * a.k);
#pragma omp for reduction(+ : sum)
        for (std::size_t start = 0; start < a.n; start += BLOCK) {
            const std::size_t count = std::min(BLOCK, a.n - start);
            for (std::size_t k = 0; k < a.k; ++k) {
                differences(a, start, count, k, delta.data());
                transformed(a, of, count, k, delta.data(), u.data());
                exponents(a, of, count, k, u.data(), beta.data());
            }
            for (std::size_t p = 0; p < count; ++p) sum += logsumexp(&beta[p * a.k], a.k);
        }
    }
    const double d = a.d, v = d + a.m + 1, pi = std::acos(-1.0);
    double squares = 0, logs = 0, gammas = 0.25 * d * (d - 1) * std::log(pi);
    for (double x : of.diagonals) squares += x * x;
    for (double x : a.l) squares += x * x;
    for (double x : a.q) logs += x;
    for (std::size_t j = 0; j < a.d; ++j) gammas += std::lgamma(0.5 * (v - j));
    const double constant = v * d * (std::log(a.gamma) - 0.5 * std::log(2.0)) - gammas;
    const double prior = a.m * logs - 0.5 * a.gamma * a.gamma * squares + a.k * constant;
    return sum - a.n * (logsumexp(a.alpha.data(), a.k) + 0.5 * d * std::log(2 * pi)) + prior;
}

// Sums over points for each component: r, r u, and the columns of G from their diagonals on.
struct Sums {
    std::vector<double> r, ru, g;
    explicit Sums(const Question &a) : r(a.k), ru(a.k * a.width), g(a.k * a.width * a.width) {}

    // Adds what a block gives to a component; `u` becomes r u.
    void add(const Question &a, std::size_t count, std::size_t k, const double *weights, const double *delta, double *u) {
        const std::size_t w = a.width;
        for (std::size_t p = 0; p < count; ++p) {
            r[k] += weights[p * a.k];
            for (std::size_t i = 0; i < w; ++i) ru[k * w + i] += u[p * w + i] *= weights[p * a.k];
        }
        for (std::size_t j = 0; j < a.d; j += TILE_ROWS)
            for (std::size_t i = j / TILE * TILE; i < w; i += TILE)
                product(&g[(k * w + j) * w + i], delta + j, 1, w, u + i, w, count);
    }
    void add(const Sums &other) {
        for (auto part : {&Sums::r, &Sums::ru, &Sums::g})
            for (std::size_t i = 0; i < (this->*part).size(); ++i) (this->*part)[i] += (other.*part)[i];
    }
};

Sums sums(const Question &a, const Components &of) {
    Sums all(a);
#pragma omp parallel
    {
        Sums own(a);
        const std::size_t size = BLOCK * a.width;
        std::vector<double> delta(size), u(a.k * size), beta(BLOCK * a.k);
#pragma omp for
        for (std::size_t start = 0; start < a.n; start += BLOCK) {
            const std::size_t count = std::min(BLOCK, a.n - start);
            for (std::size_t k = 0; k < a.k; ++k) {
                differences(a, start, count, k, delta.data());
                transformed(a, of, count, k, delta.data(), &u[k * size]);
                exponents(a, of, count, k, &u[k * size], beta.data());
            }
            for (std::size_t p = 0; p < count; ++p) {
                double *row = &beta[p * a.k], sum = 0;
                const double most = *std::max_element(row, row + a.k);
                for (std::size_t k = 0; k < a.k; ++k) sum += row[k] = std::exp(row[k] - most);
                for (std::size_t k = 0; k < a.k; ++k) row[k] /= sum;
            }
            for (std::size_t k = 0; k < a.k; ++k) {
                differences(a, start, count, k, delta.data());
                own.add(a, count, k, &beta[k], delta.data(), &u[k * size]);
            }
        }
#pragma omp critical
        all.add(own);
    }
    return all;
}

Gradient gradient(const Question &a) {
    const std::size_t d = a.d, w = a.width;
    const Components of(a);
    const Sums all = sums(a, of);
    const double total = logsumexp(a.alpha.data(), a.k), squared = a.gamma * a.gamma;
    Gradient g{std::vector<double>(a.k), std::vector<double>(a.k * d), std::vector<double>(a.k * d), std::vector<double>(a.k * a.below)};
    const double *l = a.l.data();
    double *by_l = g.l.data();
    for (std::size_t k = 0; k < a.k; ++k) {
        g.alpha[k] = all.r[k] - a.n * std::exp(a.alpha[k] - total);
        for (std::size_t j = 0; j < d; l += d - 1 - j, by_l += d - 1 - j, ++j) {
            const double *column = &of.columns[(k * d + j) * w], *of_g = &all.g[(k * w + j) * w], diagonal = column[j];
            for (std::size_t i = j; i < d; ++i) g.mu[k * d + j] += column[i] * all.ru[k * w + i];
            g.q[k * d + j] = all.r[k] - of_g[j] * diagonal - squared * diagonal * diagonal + a.m;
            for (std::size_t i = j + 1; i < d; ++i) by_l[i - j - 1] = -of_g[i] - squared * l[i - j - 1];
        }
    }
    return g;
}

Question read(const json::Value &input) {
    Question a;
    a.d = input.at("d").size(), a.k = input.at("k").size(), a.n = input.at("n").size();
    if (a.d == 0 || a.k == 0) throw std::runtime_error("expected at least one dimension and one component");
    a.below = a.d * (a.d - 1) / 2;
    a.width = (a.d + TILE - 1) / TILE * TILE;
    a.gamma = input.at("gamma").number(), a.m = input.at("m").number();
    a.x = input.at("x").numbers(a.n * a.d);
    a.alpha = input.at("alpha").numbers(a.k);
    a.mu = input.at("mu").numbers(a.k * a.d);
    a.q = input.at("q").numbers(a.k * a.d);
    a.l = input.at("l").numbers(a.k * a.below);
    return a;
}

peer::Task jacobian(const json::Value &input) {
    auto question = std::make_shared<Question>(read(input));
    auto result = std::make_shared<Gradient>();
    auto write = [=](std::string &out) {
        const Question &a = *question;
        json::write(out += "{\"alpha\":", result->alpha);
        json::write_rows(out += ",\"mu\":", result->mu, a.k, a.d);
        json::write_rows(out += ",\"q\":", result->q, a.k, a.d);
        json::write_rows(out += ",\"l\":", result->l, a.k, a.below);
        out += "}";
    };
    return {[=] { *result = gradient(*question); }, write};
}

} // namespace

int main(int count, char **arguments) {
    auto objective = [](const json::Value &input) { return peer::number([a = read(input)] { return value(a); }); };
    return peer::serve(count, arguments, "gmm", {{"objective", objective}, {"jacobian", jacobian}});
}
