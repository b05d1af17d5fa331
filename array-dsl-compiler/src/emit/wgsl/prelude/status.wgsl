// The first failure of all threads is kept. `site` counts from 0, so that 0 in the status means no failure.
// Lengths: -1 for a division by zero, -2 for the place of an extremum of nothing, -3 and -4 for too many trips.
fn adsl_fail(index: i32, length: i32, site: u32) {
    var seen = atomicCompareExchangeWeak(&status[0], 0u, site + 1u);
    while !seen.exchanged && seen.old_value == 0u {
        seen = atomicCompareExchangeWeak(&status[0], 0u, site + 1u);
    }
    if seen.exchanged {
        atomicStore(&status[1], bitcast<u32>(index));
        atomicStore(&status[2], bitcast<u32>(length));
    }
}

fn adsl_check(index: i32, length: i32, site: u32) -> bool {
    if index >= 0i && index < length { return true; }
    adsl_fail(index, length, site);
    return false;
}

fn adsl_quotient_i32(a: i32, b: i32, site: u32) -> i32 {
    if b == 0i {
        adsl_fail(0i, -1i, site);
        return 0i;
    }
    return a / b;
}

fn adsl_quotient_u32(a: u32, b: u32, site: u32) -> u32 {
    if b == 0u {
        adsl_fail(0i, -1i, site);
        return 0u;
    }
    return a / b;
}

fn adsl_remainder_i32(a: i32, b: i32, site: u32) -> i32 {
    if b == 0i {
        adsl_fail(0i, -1i, site);
        return 0i;
    }
    return a % b;
}

fn adsl_remainder_u32(a: u32, b: u32, site: u32) -> u32 {
    if b == 0u {
        adsl_fail(0i, -1i, site);
        return 0u;
    }
    return a % b;
}

fn adsl_rem_euclid_i32(a: i32, b: i32, site: u32) -> i32 {
    let r = adsl_remainder_i32(a, b, site);
    if r >= 0i { return r; }
    return select(r + b, r - b, b < 0i);
}

fn adsl_rem_euclid_u32(a: u32, b: u32, site: u32) -> u32 {
    return adsl_remainder_u32(a, b, site);
}
