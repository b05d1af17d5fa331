// ba: errors of observations of points by cameras, and their sparse Jacobian.
//
//   camera: rotation r (3), center C (3), focal length f, principal point u (2), radial distortion k (2)
//   Y = z turned around r by |r|, z = X - C,      p = (Y_0, Y_1) / Y_2,     s = |p|^2,   L = 1 + k_0 s + k_1 s^2
//   e = w (f L p + u - feature),                  error of the weight 1 - w^2
//
// With N = de/dY = w f (L I + p (dL/dp)^T) dp/dY (2 x 3), dL/dp = (2 k_0 + 4 k_1 s) p, and R the rotation's matrix:
//
//   de/dX = N R = -de/dC,   de/dr = N dY/dr,   de/df = w L p,   de/du = w,   de/dk = w f p (s, s^2),   de/dw = f L p + u - feature
//
// dY/dr_j with the angle t = |r| and the axis a = r / t comes through t, dt/dr_j = a_j, and through a, da/dr_j = (e_j - a_j a) / t.

#include <algorithm>

#include "peer.hpp"

namespace {

struct Scene {
    std::size_t n, m, p;
    std::vector<double> cameras, xs, ws, features;
    std::vector<long long> camera, x;
};

using Vector = double[3];

void cross(const Vector a, const Vector b, Vector c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

double dot(const Vector a, const Vector b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// z turned around r.
void turn(const Vector r, const Vector z, Vector y) {
    const double squared = dot(r, r);
    if (squared == 0) {
        cross(r, z, y);
        for (int i = 0; i < 3; ++i) y[i] += z[i];
        return;
    }
    const double t = std::sqrt(squared), cosine = std::cos(t), sine = std::sin(t);
    const Vector a = {r[0] / t, r[1] / t, r[2] / t};
    Vector across;
    cross(a, z, across);
    const double along = dot(a, z) * (1 - cosine);
    for (int i = 0; i < 3; ++i) y[i] = z[i] * cosine + across[i] * sine + a[i] * along;
}

// z turned around r, the matrix R of the turn, and the derivatives D[j] = dY/dr_j.
void turn(const Vector r, const Vector z, Vector y, Vector R[3], Vector D[3]) {
    const double squared = dot(r, r);
    if (squared == 0) {
        for (int j = 0; j < 3; ++j) {
            Vector unit = {};
            unit[j] = 1;
            cross(unit, z, D[j]);
            y[j] = z[j];
            for (int i = 0; i < 3; ++i) R[i][j] = i == j;
        }
        return;
    }
    const double t = std::sqrt(squared), cosine = std::cos(t), sine = std::sin(t), rest = 1 - cosine;
    const Vector a = {r[0] / t, r[1] / t, r[2] / t};
    Vector across;
    cross(a, z, across);
    const double along = dot(a, z);
    Vector by_angle;
    for (int i = 0; i < 3; ++i) {
        y[i] = z[i] * cosine + across[i] * sine + a[i] * along * rest;
        by_angle[i] = -z[i] * sine + across[i] * cosine + a[i] * along * sine;
    }
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) R[i][j] = a[i] * a[j] * rest + (i == j ? cosine : 0);
    R[0][1] -= a[2] * sine, R[0][2] += a[1] * sine;
    R[1][0] += a[2] * sine, R[1][2] -= a[0] * sine;
    R[2][0] -= a[1] * sine, R[2][1] += a[0] * sine;
    for (int j = 0; j < 3; ++j) {
        Vector moved, turned;
        for (int i = 0; i < 3; ++i) moved[i] = ((i == j) - a[j] * a[i]) / t;
        cross(moved, z, turned);
        const double more = dot(moved, z);
        for (int i = 0; i < 3; ++i)
            D[j][i] = a[j] * by_angle[i] + turned[i] * sine + (moved[i] * along + a[i] * more) * rest;
    }
}

void error(const double *camera, const double *x, double w, const double *feature, double *e) {
    const Vector z = {x[0] - camera[3], x[1] - camera[4], x[2] - camera[5]};
    Vector y;
    turn(camera, z, y);
    const double p[2] = {y[0] / y[2], y[1] / y[2]}, s = p[0] * p[0] + p[1] * p[1];
    const double L = 1 + camera[9] * s + camera[10] * s * s;
    for (int i = 0; i < 2; ++i) e[i] = w * (camera[6] * L * p[i] + camera[7 + i] - feature[i]);
}

// Two rows of fifteen entries.
void block(const double *camera, const double *x, double w, const double *feature, double *out) {
    const Vector z = {x[0] - camera[3], x[1] - camera[4], x[2] - camera[5]};
    Vector y, R[3], D[3];
    turn(camera, z, y, R, D);
    const double f = camera[6], inverse = 1 / y[2];
    const double p[2] = {y[0] * inverse, y[1] * inverse}, s = p[0] * p[0] + p[1] * p[1];
    const double L = 1 + camera[9] * s + camera[10] * s * s, slope = 2 * camera[9] + 4 * camera[10] * s;
    for (int i = 0; i < 2; ++i, out += 15) {
        const double by_p[2] = {w * f * ((i == 0 ? L : 0) + p[i] * slope * p[0]), w * f * ((i == 1 ? L : 0) + p[i] * slope * p[1])};
        const Vector N = {by_p[0] * inverse, by_p[1] * inverse, -(by_p[0] * p[0] + by_p[1] * p[1]) * inverse};
        for (int j = 0; j < 3; ++j) {
            const double by_x = N[0] * R[0][j] + N[1] * R[1][j] + N[2] * R[2][j];
            out[j] = dot(N, D[j]);
            out[3 + j] = -by_x;
            out[11 + j] = by_x;
        }
        out[6] = w * L * p[i];
        out[7] = i == 0 ? w : 0;
        out[8] = i == 1 ? w : 0;
        out[9] = w * f * p[i] * s;
        out[10] = w * f * p[i] * s * s;
        out[14] = f * L * p[i] + camera[7 + i] - feature[i];
    }
}

// A list whose elements are not set before they are written.
template <class T> struct List {
    std::size_t size = 0;
    std::unique_ptr<T[]> all;
    List() = default;
    explicit List(std::size_t size) : size(size), all(new T[size]) {}
    T &operator[](std::size_t i) { return all[i]; }
    const T &operator[](std::size_t i) const { return all[i]; }
};

struct Errors {
    List<double> reprojection, weight;
};

Errors errors(const Scene &scene) {
    Errors all{List<double>(2 * scene.p), List<double>(scene.p)};
#pragma omp parallel for
    for (std::size_t i = 0; i < scene.p; ++i) {
        const double *camera = &scene.cameras[11 * scene.camera[i]], *x = &scene.xs[3 * scene.x[i]];
        error(camera, x, scene.ws[i], &scene.features[2 * i], &all.reprojection[2 * i]);
        all.weight[i] = 1 - scene.ws[i] * scene.ws[i];
    }
    return all;
}

// Compressed rows.
struct Sparse {
    List<long long> rows, columns;
    List<double> values;
};

Sparse jacobian(const Scene &scene) {
    const long long n = scene.n, m = scene.m, p = scene.p;
    Sparse all{List<long long>(3 * p + 1), List<long long>(31 * p), List<double>(31 * p)};
#pragma omp parallel for
    for (long long i = 0; i < p; ++i) {
        const long long camera = scene.camera[i], x = scene.x[i], weight = 11 * n + 3 * m + i;
        block(&scene.cameras[11 * camera], &scene.xs[3 * x], scene.ws[i], &scene.features[2 * i], &all.values[30 * i]);
        all.values[30 * p + i] = -2 * scene.ws[i];
        for (int row = 0; row < 2; ++row) {
            long long *columns = &all.columns[30 * i + 15 * row];
            for (int j = 0; j < 11; ++j) columns[j] = 11 * camera + j;
            for (int j = 0; j < 3; ++j) columns[11 + j] = 11 * n + 3 * x + j;
            columns[14] = weight;
            all.rows[2 * i + row] = 15 * (2 * i + row);
        }
        all.columns[30 * p + i] = weight;
        all.rows[2 * p + i] = 30 * p + i;
    }
    all.rows[3 * p] = 31 * p;
    return all;
}

// The one camera, point and observation of the input, as often as it says.
Scene read(const json::Value &input) {
    Scene scene;
    scene.n = input.at("n").size(), scene.m = input.at("m").size(), scene.p = input.at("p").size();
    if (!scene.n || !scene.m || !scene.p) throw std::runtime_error("expected at least one camera, point and observation");
    const std::vector<double> camera = input.at("cam").numbers(11), x = input.at("x").numbers(3), feature = input.at("feat").numbers(2);
    for (std::size_t i = 0; i < scene.n; ++i) scene.cameras.insert(scene.cameras.end(), camera.begin(), camera.end());
    for (std::size_t i = 0; i < scene.m; ++i) scene.xs.insert(scene.xs.end(), x.begin(), x.end());
    scene.ws.assign(scene.p, input.at("w").number());
    for (std::size_t i = 0; i < scene.p; ++i) {
        scene.features.insert(scene.features.end(), feature.begin(), feature.end());
        scene.camera.push_back(i % scene.n);
        scene.x.push_back(i % scene.m);
    }
    return scene;
}

// The first thirty elements and the last one.
template <class T> void ends(std::string &out, const List<T> &list) {
    std::vector<T> some(list.all.get(), list.all.get() + std::min<std::size_t>(30, list.size));
    some.push_back(list[list.size - 1]);
    json::write(out, some);
}

peer::Task errors_task(const json::Value &input) {
    auto scene = std::make_shared<Scene>(read(input));
    auto result = std::make_shared<Errors>();
    auto write = [=](std::string &out) {
        const std::string repeated = ",\"repeated\":" + std::to_string(scene->p);
        json::write(out += "{\"reproj_error\":{\"elements\":", std::vector<double>{result->reprojection[0], result->reprojection[1]});
        json::write(out += repeated + "},\"w_err\":{\"element\":", result->weight[0]);
        out += repeated + "}}";
    };
    return {[=] { *result = errors(*scene); }, write};
}

peer::Task jacobian_task(const json::Value &input) {
    auto scene = std::make_shared<Scene>(read(input));
    auto result = std::make_shared<Sparse>();
    auto write = [=](std::string &out) {
        ends(out += "{\"rows\":", result->rows);
        ends(out += ",\"cols\":", result->columns);
        ends(out += ",\"vals\":", result->values);
        out += "}";
    };
    return {[=] { *result = jacobian(*scene); }, write};
}

} // namespace

int main(int count, char **arguments) {
    return peer::serve(count, arguments, "ba", {{"objective", errors_task}, {"jacobian", jacobian_task}});
}
