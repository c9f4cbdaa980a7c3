//! Monitoring, secret stores and operations.

use crate::detector::Detector;

pub(super) const DETECTORS: &[Detector] = &[
    Detector::token(
        "vault-token",
        "HashiCorp Vault token",
        &["hvs.", "hvb.", "hvr."],
        r"hv[sbr]\.[A-Za-z0-9_-]{24,200}",
    )
    .critical()
    .entropy(3.5),
    Detector::assigned(
        "vault-legacy-token",
        "HashiCorp Vault token",
        &["vault_token", "vault-token"],
        r"s\.[A-Za-z0-9]{24}",
    )
    .critical()
    .entropy(3.5),
    Detector::reader(
        "terraform-cloud-token",
        "Terraform Cloud token",
        &[".atlasv1."],
        super::super::prefixless::terraform,
    )
    .critical(),
    Detector::token("pulumi-token", "Pulumi token", &["pul-"], r"pul-[0-9a-f]{40}"),
    Detector::token(
        "doppler-token",
        "Doppler token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        r"dp\.(?:pt|st\.[a-z0-9_-]{2,35}|st|ct|sa|scim|audit)\.[A-Za-z0-9]{40,44}",
    ),
    Detector::token(
        "onepassword-token",
        "1Password service account token",
        &["ops_eyj"],
        r"ops_eyJ[A-Za-z0-9+/_-]{250,1200}={0,3}",
    )
    .critical(),
    Detector::token(
        "onepassword-secret-key",
        "1Password secret key",
        &["a3-"],
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
    )
    .entropy(3.5),
    Detector::token(
        "infisical-token",
        "Infisical token",
        &["st."],
        r"st\.[0-9a-f-]{24,36}\.[0-9a-f]{32}\.[0-9a-f]{32}",
    ),
    Detector::token("openshift-token", "OpenShift token", &["sha256~"], r"sha256~[A-Za-z0-9_-]{43}"),
    Detector::token(
        "dynatrace-token",
        "Dynatrace token",
        &["dt0c01.", "dt0s01.", "dt0s02."],
        r"dt0[cs]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
    ),
    Detector::token("newrelic-user-key", "New Relic user key", &["nrak-"], r"NRAK-[A-Z0-9]{27}"),
    Detector::token(
        "newrelic-insights-key",
        "New Relic insert or query key",
        &["nrii-", "nriq-", "nrra-"],
        r"NR(?:II|IQ|RA)-[A-Za-z0-9_-]{32,42}",
    ),
    Detector::reader("newrelic-license-key", "New Relic licence key", &["nral"], super::super::prefixless::newrelic),
    Detector::assigned(
        "datadog-key",
        "Datadog key",
        &["datadog", "dd_api", "dd_app", "dd-api", "dd-app", "ddapi"],
        r"(?:[0-9a-f]{40}|[0-9a-f]{32})",
    )
    .entropy(3.2),
    Detector::token("datadog-app-key", "Datadog application key", &["ddapp_"], r"ddapp_[A-Za-z0-9]{34}"),
    Detector::token(
        "grafana-token",
        "Grafana token",
        &["glsa_", "glc_"],
        r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/]{60,400}={0,3})",
    ),
    Detector::token("grafana-api-key", "Grafana API key", &["eyjrijoi"], r"eyJrIjoi[A-Za-z0-9]{60,400}={0,3}")
        .entropy(4.0),
    Detector::token(
        "sentry-token",
        "Sentry token",
        &["sntrys_", "sntryu_"],
        r"(?:sntrys_eyJ[A-Za-z0-9+/]{80,400}={0,2}_[A-Za-z0-9+/]{43}|sntryu_[0-9a-f]{64})",
    ),
    Detector::assigned("sentry-legacy-token", "Sentry token", &["sentry"], r"[0-9a-f]{64}").entropy(3.4),
    Detector::token("honeycomb-key", "Honeycomb key", &["hcaik_", "hcbik_", "hcxik_"], r"hc[abx]ik_[a-z0-9]{58}"),
    Detector::assigned(
        "pagerduty-key",
        "PagerDuty key",
        &["pagerduty", "pager_duty", "pd_api"],
        r"(?:u\+)?[A-Za-z0-9_+-]{20}",
    )
    .entropy(3.6),
    Detector::assigned(
        "opsgenie-key",
        "Opsgenie key",
        &["opsgenie"],
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    Detector::assigned("rollbar-token", "Rollbar token", &["rollbar"], r"[0-9a-f]{32}").entropy(3.2),
    Detector::assigned("bugsnag-key", "Bugsnag key", &["bugsnag"], r"[0-9a-f]{32}").entropy(3.2),
    Detector::assigned("sumologic-key", "Sumo Logic key", &["sumologic", "sumo_"], r"[A-Za-z0-9]{64}").entropy(4.2),
    Detector::assigned(
        "splunk-hec-token",
        "Splunk HEC token",
        &["splunk"],
        r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    ),
    Detector::assigned("logzio-token", "Logz.io token", &["logzio", "logz_io"], r"[A-Za-z]{32}").entropy(4.0),
    Detector::token("postman-key", "Postman API key", &["pmak-"], r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    Detector::token("prefect-key", "Prefect API key", &["pnu_", "pnb_"], r"pn[ub]_[A-Za-z0-9]{36}"),
    Detector::token(
        "launchdarkly-key",
        "LaunchDarkly key",
        &["sdk-", "api-"],
        r"(?:sdk|api)-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    Detector::assigned("okta-token", "Okta token", &["okta", "ssws"], r"00[A-Za-z0-9_-]{40}").entropy(4.0),
    Detector::assigned("auth0-secret", "Auth0 client secret", &["auth0"], r"[A-Za-z0-9_-]{64}").entropy(4.4),
    Detector::token("elastic-api-key", "Elastic Cloud key", &["essu_"], r"essu_[A-Za-z0-9+/_-]{60,100}={0,2}"),
    Detector::assigned("algolia-admin-key", "Algolia key", &["algolia"], r"[0-9a-f]{32}").entropy(3.2),
    Detector::token("posthog-personal-key", "PostHog personal key", &["phx_"], r"phx_[A-Za-z0-9]{43,50}"),
    Detector::token("rootly-token", "Rootly token", &["rootly_"], r"rootly_[0-9a-f]{64}"),
    Detector::assigned(
        "kubernetes-bootstrap-token",
        "Kubernetes bootstrap token",
        &["bootstrap", "--token", "kubeadm"],
        r"[a-z0-9]{6}\.[a-z0-9]{16}",
    )
    .entropy(3.2),
];
