// gmm: the logarithm of a Gaussian mixture's posterior with a Wishart prior.
//
//   Q_k       lower triangular, diagonal exp(q_k), below it l_k column by column
//   beta_ik = alpha_k + sum_j q_kj - 1/2 |Q_k (x_i - mu_k)|^2
//   F       = -1/2 n d log(2 pi) + sum_i lse_k(beta_ik) - n lse(alpha)
//             - sum_k (1/2 gamma^2 |Q_k|^2 - m sum_j q_kj) + K (v d (log(gamma) - 1/2 log 2) - lgamma_d(v / 2)), v = d + m + 1
//
// With delta = x_i - mu_k, u = Q_k delta and r_ik = softmax_k(beta_ik):
//
//   dF/dalpha_k = sum_i r_ik - n softmax(alpha)_k          dF/dmu_k = Q_k^T sum_i r_ik u
//   dF/dq_kj    = sum_i r_ik (1 - u_j delta_j exp(q_kj)) - gamma^2 exp(2 q_kj) + m
//   dF/dl_k     = -sum_i r_ik u delta^T - gamma^2 l_k      (below the diagonal)

#include <algorithm>
#include <cmath>

#include "peer.hpp"

namespace {

struct Question {
    std::size_t d, k, n, below;
    double gamma, m;
    std::vector<double> x, alpha, mu, q, l;
};

struct Gradient {
    std::vector<double> alpha, mu, q, l;
    explicit Gradient(const Question &a) : alpha(a.k), mu(a.k * a.d), q(a.k * a.d), l(a.k * a.below) {}
};

// delta and u of a point and a component; gives |u|^2.
double differences(const Question &a, const double *x, std::size_t k, const double *diagonal, double *delta, double *u) {
    const std::size_t d = a.d;
    const double *mu = &a.mu[k * d], *l = a.l.data() + k * a.below;
    for (std::size_t j = 0; j < d; ++j) {
        delta[j] = x[j] - mu[j];
        u[j] = diagonal[j] * delta[j];
    }
    for (std::size_t j = 0; j < d; l += d - 1 - j, ++j)
        for (std::size_t i = j + 1; i < d; ++i) u[i] += l[i - j - 1] * delta[j];
    double squares = 0;
    for (std::size_t j = 0; j < d; ++j) squares += u[j] * u[j];
    return squares;
}

double logsumexp(const double *x, std::size_t count) {
    double most = x[0], sum = 0;
    for (std::size_t i = 0; i < count; ++i) most = std::max(most, x[i]);
    for (std::size_t i = 0; i < count; ++i) sum += std::exp(x[i] - most);
    return most + std::log(sum);
}

// exp(q), and alpha_k + sum_j q_kj.
void prepare(const Question &a, std::vector<double> &diagonals, std::vector<double> &offsets) {
    diagonals.resize(a.k * a.d);
    for (std::size_t i = 0; i < a.k * a.d; ++i) diagonals[i] = std::exp(a.q[i]);
    offsets = a.alpha;
    for (std::size_t k = 0; k < a.k; ++k)
        for (std::size_t j = 0; j < a.d; ++j) offsets[k] += a.q[k * a.d + j];
}

double value(const Question &a) {
    std::vector<double> diagonals, offsets;
    prepare(a, diagonals, offsets);
    double sum = 0;
#pragma omp parallel
    {
        std::vector<double> delta(a.d), u(a.d), beta(a.k);
#pragma omp for reduction(+ : sum)
        for (std::size_t i = 0; i < a.n; ++i) {
            for (std::size_t k = 0; k < a.k; ++k)
                beta[k] = offsets[k] - 0.5 * differences(a, &a.x[i * a.d], k, &diagonals[k * a.d], delta.data(), u.data());
            sum += logsumexp(beta.data(), a.k);
        }
    }
    const double d = a.d, v = d + a.m + 1, pi = std::acos(-1.0);
    double squares = 0, logs = 0, gammas = 0.25 * d * (d - 1) * std::log(pi);
    for (double x : diagonals) squares += x * x;
    for (double x : a.l) squares += x * x;
    for (double x : a.q) logs += x;
    for (std::size_t j = 0; j < a.d; ++j) gammas += std::lgamma(0.5 * (v - j));
    const double constant = v * d * (std::log(a.gamma) - 0.5 * std::log(2.0)) - gammas;
    const double prior = a.m * logs - 0.5 * a.gamma * a.gamma * squares + a.k * constant;
    return sum - a.n * (logsumexp(a.alpha.data(), a.k) + 0.5 * d * std::log(2 * pi)) + prior;
}

// Adds what a point and a component give, but for `mu`, of which it adds r u.
void contribute(const Question &a, std::size_t k, double r, const double *diagonal, const double *delta, const double *u, Gradient &g) {
    const std::size_t d = a.d;
    double *mu = &g.mu[k * d], *q = &g.q[k * d], *l = g.l.data() + k * a.below;
    g.alpha[k] += r;
    for (std::size_t j = 0; j < d; ++j) {
        mu[j] += r * u[j];
        q[j] += r * (1 - u[j] * delta[j] * diagonal[j]);
    }
    for (std::size_t j = 0; j < d; l += d - 1 - j, ++j) {
        const double scaled = r * delta[j];
        for (std::size_t i = j + 1; i < d; ++i) l[i - j - 1] -= scaled * u[i];
    }
}

Gradient gradient(const Question &a) {
    const std::size_t d = a.d;
    std::vector<double> diagonals, offsets;
    prepare(a, diagonals, offsets);
    Gradient g(a);
#pragma omp parallel
    {
        Gradient own(a);
        std::vector<double> delta(a.k * d), u(a.k * d), beta(a.k);
#pragma omp for
        for (std::size_t i = 0; i < a.n; ++i) {
            for (std::size_t k = 0; k < a.k; ++k)
                beta[k] = offsets[k] - 0.5 * differences(a, &a.x[i * d], k, &diagonals[k * d], &delta[k * d], &u[k * d]);
            const double total = logsumexp(beta.data(), a.k);
            for (std::size_t k = 0; k < a.k; ++k)
                contribute(a, k, std::exp(beta[k] - total), &diagonals[k * d], &delta[k * d], &u[k * d], own);
        }
#pragma omp critical
        for (auto part : {&Gradient::alpha, &Gradient::mu, &Gradient::q, &Gradient::l})
            for (std::size_t i = 0; i < (g.*part).size(); ++i) (g.*part)[i] += (own.*part)[i];
    }
    const double total = logsumexp(a.alpha.data(), a.k), squared = a.gamma * a.gamma;
    for (std::size_t k = 0; k < a.k; ++k) {
        g.alpha[k] -= a.n * std::exp(a.alpha[k] - total);
        double *mu = &g.mu[k * d];
        const double *l = a.l.data() + k * a.below;
        // The entry j of Q^T v needs the entries from j on of v alone.
        for (std::size_t j = 0; j < d; l += d - 1 - j, ++j) {
            mu[j] *= diagonals[k * d + j];
            for (std::size_t i = j + 1; i < d; ++i) mu[j] += l[i - j - 1] * mu[i];
        }
    }
    for (std::size_t i = 0; i < g.q.size(); ++i) g.q[i] += a.m - squared * diagonals[i] * diagonals[i];
    for (std::size_t i = 0; i < g.l.size(); ++i) g.l[i] -= squared * a.l[i];
    return g;
}

Question read(const json::Value &input) {
    Question a;
    a.d = input.at("d").size(), a.k = input.at("k").size(), a.n = input.at("n").size();
    if (a.d == 0 || a.k == 0) throw std::runtime_error("expected at least one dimension and one component");
    a.below = a.d * (a.d - 1) / 2;
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
    auto result = std::make_shared<Gradient>(*question);
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
