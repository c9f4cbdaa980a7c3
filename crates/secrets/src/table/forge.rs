//! Code hosting, package registries and continuous integration.

use crate::checksum;
use crate::detector::Detector;

pub(super) const DETECTORS: &[Detector] = &[
    Detector::token("github-pat", "GitHub personal access token", &["ghp_"], r"ghp_[A-Za-z0-9]{36}")
        .critical()
        .checksum(checksum::crc32_base62),
    Detector::token("github-oauth-token", "GitHub OAuth token", &["gho_"], r"gho_[A-Za-z0-9]{36}")
        .critical()
        .checksum(checksum::crc32_base62),
    Detector::token("github-user-token", "GitHub user-to-server token", &["ghu_"], r"ghu_[A-Za-z0-9]{36}")
        .critical()
        .checksum(checksum::crc32_base62),
    Detector::token("github-app-token", "GitHub App token", &["ghs_"], r"ghs_[A-Za-z0-9]{36}")
        .critical()
        .checksum(checksum::crc32_base62),
    Detector::token("github-refresh-token", "GitHub refresh token", &["ghr_"], r"ghr_[A-Za-z0-9]{36,76}").critical(),
    Detector::token(
        "github-fine-grained-pat",
        "GitHub fine-grained token",
        &["github_pat_"],
        r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
    )
    .critical(),
    Detector::assigned("github-legacy-token", "GitHub token", &["github", "gh_token"], r"[0-9a-f]{40}").entropy(3.2),
    Detector::token(
        "gitlab-pat",
        "GitLab personal access token",
        &["glpat-"],
        r"glpat-(?:[A-Za-z0-9_-]{27,300}\.[0-9a-z]{2}\.[0-9a-z]{9}|[A-Za-z0-9_-]{20})",
    )
    .critical(),
    Detector::token("gitlab-deploy-token", "GitLab deploy token", &["gldt-"], r"gldt-[A-Za-z0-9_-]{20}").critical(),
    Detector::token(
        "gitlab-runner-token",
        "GitLab runner token",
        &["glrt-", "glrtr-", "gr1348941"],
        r"(?:glrt-(?:t\d_)?|glrtr-|GR1348941)[A-Za-z0-9_-]{20,40}(?:\.[0-9a-z]{2}\.[0-9a-z]{9})?",
    ),
    Detector::token(
        "gitlab-trigger-token",
        "GitLab trigger token",
        &["glptt-"],
        r"glptt-(?:[0-9a-f]{40}|[A-Za-z0-9_-]{20,40})",
    ),
    Detector::token(
        "gitlab-other-token",
        "GitLab token",
        &["glft-", "glcbt-", "glimt-", "glsoat-", "glagent-", "gloas-", "glffct-", "glwt-"],
        r"gl(?:ft|imt|soat|agent|oas|ffct|wt|cbt)-[A-Za-z0-9_-]{20,66}",
    ),
    Detector::token(
        "bitbucket-token",
        "Bitbucket token",
        &["atbb", "atctt3"],
        r"(?:ATBB[A-Za-z0-9]{24,32}|ATCTT3xFf[A-Za-z0-9_=-]{150,220})",
    )
    .entropy(3.8),
    Detector::token("atlassian-api-token", "Atlassian API token", &["atatt3"], r"ATATT3[A-Za-z0-9_=-]{150,220}")
        .critical()
        .entropy(4.0),
    Detector::token("npm-token", "npm token", &["npm_"], r"npm_[A-Za-z0-9]{36}")
        .critical()
        .checksum(checksum::crc32_base62),
    Detector::assigned(
        "npm-legacy-token",
        "npm token",
        &["_authtoken"],
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    )
    .critical(),
    Detector::token(
        "pypi-token",
        "PyPI token",
        &["pypi-ageichlwas", "pypi-agendgvz"],
        r"pypi-(?:AgEIcHlwaS5vcmc|AgENdGVzdC5weXBpLm9yZw)[A-Za-z0-9_-]{50,1000}",
    )
    .critical()
    .entropy(4.0),
    Detector::token("rubygems-key", "RubyGems API key", &["rubygems_"], r"rubygems_[0-9a-f]{48}").critical(),
    Detector::token("nuget-key", "NuGet API key", &["oy2"], r"oy2[a-z0-9]{43}").entropy(4.0),
    Detector::token("crates-io-token", "crates.io token", &["cio"], r"cio[A-Za-z0-9]{32}").critical().entropy(4.0),
    Detector::token("clojars-token", "Clojars token", &["clojars_"], r"CLOJARS_[0-9a-f]{60}"),
    Detector::token(
        "packagist-token",
        "Packagist token",
        &["packagist_"],
        r"packagist_(?:org_|user_)?[uao][a-z]{2}_[0-9a-f]{68}",
    ),
    Detector::token("sourcegraph-token", "Sourcegraph token", &["sgp_"], r"sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"),
    Detector::token("artifactory-key", "Artifactory API key", &["akcp"], r"AKCp[A-Za-z0-9]{60,74}").entropy(4.0),
    Detector::token(
        "artifactory-reference-token",
        "Artifactory reference token",
        &["cmvmdgtu"],
        r"cmVmdGtu[A-Za-z0-9+/=]{56}",
    )
    .entropy(4.0),
    Detector::token(
        "circleci-token",
        "CircleCI token",
        &["ccipat_", "ccipproj_", "ccirt_"],
        r"CCI(?:PAT|PRJ|RT)_[A-Za-z0-9]{22}_[0-9a-f]{40}",
    ),
    Detector::assigned(
        "circleci-legacy-token",
        "CircleCI token",
        &["circleci", "circle_token", "circle-token"],
        r"[0-9a-f]{40}",
    )
    .entropy(3.2),
    Detector::token(
        "buildkite-token",
        "Buildkite token",
        &["bkua_", "bkaj_", "bkct_"],
        r"bk(?:ua|aj|ct)_[0-9a-zA-Z]{40}",
    ),
    Detector::assigned("travis-token", "Travis CI token", &["travis"], r"[A-Za-z0-9_-]{22}").entropy(3.8),
    Detector::assigned("drone-token", "Drone CI token", &["drone"], r"[A-Za-z0-9]{32}").entropy(3.8),
    Detector::assigned(
        "codecov-token",
        "Codecov token",
        &["codecov"],
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    Detector::assigned(
        "snyk-token",
        "Snyk token",
        &["snyk"],
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    Detector::token("sonar-token", "SonarQube token", &["squ_", "sqp_", "sqa_"], r"sq[upa]_[0-9a-f]{40}"),
    Detector::assigned("sonar-legacy-token", "SonarQube token", &["sonar"], r"[0-9a-f]{40}").entropy(3.2),
    Detector::token(
        "harness-token",
        "Harness token",
        &["pat.", "sat."],
        r"[ps]at\.[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}",
    ),
    Detector::assigned("coveralls-token", "Coveralls token", &["coveralls"], r"[A-Za-z0-9]{37}").entropy(4.0),
    Detector::token("readthedocs-token", "Read the Docs token", &["rtd_"], r"rtd_[0-9a-f]{40}"),
];
