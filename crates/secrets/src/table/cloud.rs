//! Clouds, hosting and hosted databases.

use crate::detector::Detector;

pub(super) const DETECTORS: &[Detector] = &[
    // docs.aws.amazon.com, IAM identifiers: unique id prefixes.
    Detector::token(
        "aws-access-key-id",
        "AWS access key id",
        &["akia", "asia", "abia", "acca"],
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",
    )
    .critical()
    .entropy(3.0),
    Detector::assigned(
        "aws-secret-access-key",
        "AWS secret access key",
        &[
            "aws_secret",
            "aws_sk",
            "awssecret",
            "aws-secret",
            "aws.secret",
            "secretaccesskey",
            "secret_access_key",
            "secret-access-key",
            "secretkey",
        ],
        r"[A-Za-z0-9/+]{40}",
    )
    .critical()
    .entropy(4.2),
    Detector::assigned(
        "aws-session-token",
        "AWS session token",
        &["aws_session_token", "awssessiontoken", "sessiontoken"],
        r"(?:IQoJ|FwoG|FQoG)[A-Za-z0-9/+=]{100,600}",
    )
    .critical()
    .entropy(4.0),
    Detector::token("aws-bedrock-key", "Amazon Bedrock API key", &["absk"], r"ABSK[A-Za-z0-9+/]{100,140}={0,2}")
        .critical()
        .entropy(4.0),
    Detector::assigned(
        "aws-mws-token",
        "Amazon MWS auth token",
        &["mws"],
        r"amzn\.mws\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    Detector::token("gcp-api-key", "Google API key", &["aiza"], r"AIza[A-Za-z0-9_-]{35}").entropy(3.5),
    Detector::token("gcp-oauth-client-secret", "Google OAuth client secret", &["gocspx-"], r"GOCSPX-[A-Za-z0-9_-]{28}"),
    Detector::token("gcp-oauth-token", "Google OAuth access token", &["ya29."], r"ya29\.[A-Za-z0-9_-]{40,400}")
        .entropy(4.0),
    Detector::token("gcp-refresh-token", "Google OAuth refresh token", &["1//0"], r"1//0[A-Za-z0-9_-]{40,100}")
        .entropy(4.0),
    Detector::assigned(
        "azure-storage-key",
        "Azure storage account key",
        &["accountkey", "account_key", "storagekey", "storage_key", "sharedaccesskey"],
        r"[A-Za-z0-9+/]{86}==",
    )
    .critical()
    .entropy(4.5),
    Detector::assigned(
        "azure-shared-access-key",
        "Azure shared access key",
        &["sharedaccesskey", "shared_access_key", "primarykey", "primary_key"],
        r"[A-Za-z0-9+/]{43}=",
    )
    .critical()
    .entropy(4.2),
    Detector::assigned(
        "azure-ad-client-secret",
        "Microsoft Entra client secret",
        &["secret", "azure", "client", "password", "value"],
        r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.\-]{31,34}",
    )
    .critical()
    .entropy(4.0),
    Detector::token(
        "azure-sas-signature",
        "Azure shared access signature",
        &["sig="],
        r"sig=([A-Za-z0-9%+/]{43,60}(?:%3D|=))",
    )
    .entropy(4.2),
    Detector::assigned(
        "azure-devops-pat",
        "Azure DevOps token",
        &["azure_devops", "azuredevops", "ado_pat", "ado_token", "vsts", "devops_pat"],
        r"[a-z2-7]{52}",
    )
    .entropy(4.0),
    Detector::assigned(
        "azure-cognitive-key",
        "Azure service key",
        &["azure", "cognitive", "ocp-apim-subscription-key"],
        r"[0-9a-f]{32}",
    )
    .entropy(3.2),
    Detector::token(
        "digitalocean-token",
        "DigitalOcean token",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        r"do[opr]_v1_[0-9a-f]{64}",
    )
    .critical(),
    Detector::assigned(
        "digitalocean-spaces-secret",
        "DigitalOcean Spaces secret",
        &["spaces_secret", "spaces_key"],
        r"[A-Za-z0-9/+]{43}",
    )
    .entropy(4.2),
    Detector::token(
        "heroku-api-key",
        "Heroku API key",
        &["hrku-"],
        r"HRKU-(?:AA[A-Za-z0-9_-]{58}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})",
    ),
    Detector::assigned(
        "heroku-legacy-key",
        "Heroku API key",
        &["heroku"],
        r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    ),
    Detector::token("alibaba-access-key-id", "Alibaba Cloud access key id", &["ltai"], r"LTAI[A-Za-z0-9]{12,20}")
        .entropy(3.4),
    Detector::token("tencent-secret-id", "Tencent Cloud secret id", &["akid"], r"AKID[A-Za-z0-9]{32}").entropy(4.0),
    Detector::assigned("ibm-cloud-api-key", "IBM Cloud API key", &["ibm", "bluemix"], r"[A-Za-z0-9_-]{44}")
        .entropy(4.4),
    Detector::assigned("linode-token", "Linode token", &["linode"], r"[0-9a-f]{64}").entropy(3.4),
    Detector::assigned("hetzner-token", "Hetzner Cloud token", &["hcloud", "hetzner"], r"[A-Za-z0-9]{64}").entropy(4.4),
    Detector::assigned(
        "scaleway-secret-key",
        "Scaleway secret key",
        &["scw_secret", "scaleway"],
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    Detector::assigned("vultr-api-key", "Vultr API key", &["vultr"], r"[A-Z0-9]{36}").entropy(4.0),
    Detector::token(
        "flyio-token",
        "Fly.io token",
        &["fm1r_", "fm1a_", "fm2_", "fo1_"],
        r"(?:fm1[ar]_|fm2_|fo1_)[A-Za-z0-9+/_=-]{40,600}",
    )
    .entropy(4.0),
    Detector::token(
        "netlify-token",
        "Netlify token",
        &["nfp_", "nfc_", "nfo_", "nfu_"],
        r"nf[pcou]_[A-Za-z0-9_]{36,40}",
    )
    .entropy(3.5),
    Detector::assigned("vercel-token", "Vercel token", &["vercel", "zeit"], r"[A-Za-z0-9]{24}").entropy(3.8),
    Detector::token(
        "cloudflare-origin-ca-key",
        "Cloudflare Origin CA key",
        &["v1.0-"],
        r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}",
    ),
    Detector::assigned(
        "cloudflare-api-token",
        "Cloudflare API token",
        &["cloudflare", "cf_api", "cf_token"],
        r"(?:[A-Za-z0-9_-]{40}|[0-9a-f]{37})",
    )
    .entropy(3.4),
    Detector::assigned("fastly-api-token", "Fastly API token", &["fastly"], r"[A-Za-z0-9_-]{32}").entropy(4.0),
    Detector::token("databricks-token", "Databricks token", &["dapi"], r"dapi[0-9a-f]{32}(?:-\d)?").critical(),
    Detector::token(
        "planetscale-secret",
        "PlanetScale secret",
        &["pscale_tkn_", "pscale_oauth_", "pscale_pw_"],
        r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9=._-]{32,64}",
    ),
    Detector::token(
        "supabase-token",
        "Supabase token",
        &["sbp_", "sb_secret_"],
        r"(?:sbp_(?:oauth_|v0_)?[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{31,40})",
    ),
    Detector::token("render-api-key", "Render API key", &["rnd_"], r"rnd_[A-Za-z0-9]{26,32}").entropy(3.8),
    Detector::token("aiven-password", "Aiven password", &["avns_"], r"AVNS_[A-Za-z0-9_-]{18,24}"),
    Detector::token(
        "yandex-api-key",
        "Yandex Cloud key",
        &["aqvn", "t1.9", "ycm", "yco", "ycp", "ycn"],
        r"(?:AQVN[A-Za-z0-9_-]{35,38}|t1\.[A-Z0-9a-z_-]{150,250}={0,2}\.[A-Za-z0-9_-]{86}={0,2}|YC[A-Za-z0-9_-]{38})",
    )
    .entropy(4.0),
    Detector::assigned("confluent-secret", "Confluent secret", &["confluent"], r"(?:cflt)?[A-Za-z0-9+/]{64}")
        .entropy(4.4),
    Detector::assigned("oracle-oci-auth", "Oracle Cloud auth token", &["oci_auth", "oci_token"], r"[^\s\x22']{20}")
        .entropy(3.6),
    Detector::token("neon-api-key", "Neon API key", &["napi_"], r"napi_[a-z0-9]{48,64}"),
    Detector::token(
        "tailscale-key",
        "Tailscale key",
        &["tskey-"],
        r"tskey-(?:api|auth|client|scim|webhook)-[A-Za-z0-9]{8,20}CNTRL-[A-Za-z0-9]{20,48}",
    ),
    Detector::assigned("ngrok-authtoken", "ngrok authtoken", &["ngrok"], r"[0-9][A-Za-z0-9]{24,27}_[A-Za-z0-9]{20,22}")
        .entropy(4.0),
    Detector::token("cockroachdb-key", "CockroachDB Cloud key", &["ccdb1_"], r"CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}"),
    Detector::token(
        "docker-hub-pat",
        "Docker Hub token",
        &["dckr_pat_", "dckr_oat_"],
        r"dckr_(?:pat_[A-Za-z0-9_-]{27}|oat_[A-Za-z0-9_-]{32})",
    ),
];
