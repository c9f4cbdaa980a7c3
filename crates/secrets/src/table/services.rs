//! Web applications and their APIs.

use crate::detector::Detector;

pub(super) const DETECTORS: &[Detector] = &[
    Detector::token("airtable-token", "Airtable token", &["pat"], r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}").critical(),
    Detector::assigned("airtable-key", "Airtable key", &["airtable"], r"key[A-Za-z0-9]{14}").entropy(3.4),
    Detector::token(
        "linear-key",
        "Linear key",
        &["lin_api_", "lin_oauth_"],
        r"lin_(?:api_[A-Za-z0-9]{40}|oauth_[0-9a-f]{64})",
    ),
    Detector::token("notion-token", "Notion token", &["ntn_"], r"ntn_[0-9]{11}[A-Za-z0-9]{35}"),
    Detector::assigned("notion-legacy-token", "Notion token", &["notion"], r"secret_[A-Za-z0-9]{43}"),
    Detector::assigned(
        "asana-token",
        "Asana token",
        &["asana"],
        r"(?:[0-2]/\d{13,17}(?:/\d{13,17})?:[0-9a-f]{32}|[0-9a-f]{32})",
    )
    .entropy(3.2),
    Detector::token("figma-token", "Figma token", &["figd_", "figo_"], r"fig[do]_[A-Za-z0-9_-]{40}"),
    Detector::token("dropbox-token", "Dropbox token", &["sl."], r"sl\.(?:u\.)?[A-Za-z0-9_-]{130,200}").entropy(4.2),
    Detector::assigned("dropbox-secret", "Dropbox app secret", &["dropbox"], r"[a-z0-9]{15}").entropy(3.2),
    Detector::assigned(
        "trello-token",
        "Trello token",
        &["trello"],
        r"(?:ATTA[0-9a-f]{64}[0-9A-F]{8}|[0-9a-f]{64}|[0-9a-f]{32})",
    )
    .entropy(3.2),
    Detector::assigned("jira-token", "Jira token", &["jira", "confluence"], r"[A-Za-z0-9]{24}").entropy(3.8),
    Detector::token(
        "hubspot-token",
        "HubSpot token",
        &["pat-na", "pat-eu"],
        r"pat-(?:na|eu)\d-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    Detector::assigned(
        "hubspot-key",
        "HubSpot key",
        &["hubspot", "hapikey"],
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    Detector::token("typeform-token", "Typeform token", &["tfp_"], r"tfp_[A-Za-z0-9_.-]{40,60}"),
    Detector::token("contentful-token", "Contentful token", &["cfpat-"], r"CFPAT-[A-Za-z0-9_-]{43}"),
    Detector::assigned("contentful-delivery-token", "Contentful delivery token", &["contentful"], r"[A-Za-z0-9_-]{43}")
        .entropy(4.2),
    Detector::token(
        "mapbox-secret-token",
        "Mapbox secret token",
        &["sk.eyj"],
        r"sk\.eyJ[A-Za-z0-9_-]{60,120}\.[A-Za-z0-9_-]{22}",
    ),
    Detector::token("readme-key", "ReadMe key", &["rdme_"], r"rdme_[a-z0-9]{70}"),
    Detector::token("frameio-token", "Frame.io token", &["fio-u-"], r"fio-u-[A-Za-z0-9_=-]{64}"),
    Detector::token("facebook-token", "Facebook access token", &["eaa"], r"EAA[A-Za-z0-9]{90,250}").entropy(4.0),
    Detector::assigned("facebook-secret", "Facebook app secret", &["facebook", "fb_secret", "fb_app"], r"[0-9a-f]{32}")
        .entropy(3.2),
    Detector::token("instagram-token", "Instagram access token", &["igqv"], r"IGQV[A-Za-z0-9_-]{100,250}").entropy(4.0),
    Detector::token("twitter-bearer", "X bearer token", &["aaaaaaaaaaaaaaaaaaaa"], r"A{20,24}([A-Za-z0-9%]{80,100})")
        .entropy(3.5),
    Detector::assigned(
        "twitter-secret",
        "X secret",
        &["twitter"],
        r"(?:\d{8,20}-[A-Za-z0-9]{40}|[A-Za-z0-9]{50}|[A-Za-z0-9]{45})",
    )
    .entropy(4.0),
    Detector::assigned(
        "linkedin-secret",
        "LinkedIn secret",
        &["linkedin"],
        r"(?:WPL_AP\d\.[A-Za-z0-9]{16}\.[A-Za-z0-9+/=]{8}|[A-Za-z0-9]{16})",
    )
    .entropy(3.4),
    Detector::assigned("spotify-secret", "Spotify secret", &["spotify"], r"[0-9a-f]{32}").entropy(3.2),
    Detector::assigned("reddit-secret", "Reddit secret", &["reddit"], r"[A-Za-z0-9_-]{27,30}").entropy(4.0),
    Detector::assigned("intercom-token", "Intercom token", &["intercom"], r"[A-Za-z0-9=_+/-]{60}").entropy(4.2),
    Detector::assigned("zendesk-token", "Zendesk token", &["zendesk"], r"[A-Za-z0-9]{40}").entropy(4.0),
    Detector::assigned("freshdesk-key", "Freshdesk key", &["freshdesk"], r"[A-Za-z0-9]{20}").entropy(3.6),
    Detector::assigned(
        "monday-token",
        "monday.com token",
        &["monday"],
        r"eyJhbGciOiJIUzI1NiJ9\.[A-Za-z0-9_-]{60,400}\.[A-Za-z0-9_-]{43}",
    ),
    Detector::token("salesforce-token", "Salesforce token", &["00d"], r"00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{80,260}")
        .critical()
        .entropy(4.0),
    Detector::assigned(
        "rapidapi-key",
        "RapidAPI key",
        &["rapidapi", "x-rapidapi-key"],
        r"[A-Za-z0-9]{10}msh[A-Za-z0-9]{15}p1[A-Za-z0-9]{6}jsn[A-Za-z0-9]{12}",
    ),
    Detector::assigned("openweather-key", "OpenWeather key", &["openweather"], r"[0-9a-f]{32}").entropy(3.2),
    Detector::assigned("newsapi-key", "News API key", &["newsapi", "news_api"], r"[0-9a-f]{32}").entropy(3.2),
    Detector::assigned(
        "firebase-server-key",
        "Firebase server key",
        &["firebase", "fcm", "server_key", "serverkey"],
        r"AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{140}",
    )
    .critical()
    .entropy(4.4),
    Detector::assigned("segment-write-key", "Segment key", &["segment"], r"[A-Za-z0-9]{32}").entropy(4.2),
    Detector::assigned("etsy-key", "Etsy key", &["etsy"], r"[a-z0-9]{24}").entropy(3.6),
    Detector::assigned("yelp-key", "Yelp key", &["yelp"], r"[A-Za-z0-9_-]{128}").entropy(4.4),
    Detector::assigned("webex-token", "Webex token", &["webex"], r"[A-Za-z0-9]{64}_[A-Za-z0-9]{4}_[0-9a-f-]{36}"),
    Detector::token("ubidots-token", "Ubidots token", &["bbff-"], r"BBFF-[A-Za-z0-9]{30}"),
    Detector::token("adobe-client-secret", "Adobe client secret", &["p8e-"], r"p8e-[A-Za-z0-9]{32}"),
    Detector::token(
        "defined-networking-token",
        "Defined Networking token",
        &["dnkey-"],
        r"dnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}",
    ),
    Detector::token("scalingo-token", "Scalingo token", &["tk-us-"], r"tk-us-[A-Za-z0-9_-]{48}"),
    Detector::token(
        "ory-token",
        "Ory token",
        &["ory_at_", "ory_pat_", "ory_rt_", "ory_st_"],
        r"ory_(?:at|pat|rt|st)_[A-Za-z0-9_.-]{32,100}",
    ),
    Detector::token("workos-key", "WorkOS key", &["sk_prod_"], r"sk_prod_[A-Za-z0-9_-]{40,80}").entropy(4.0),
    Detector::token(
        "vercel-blob-token",
        "Vercel Blob token",
        &["vercel_blob_rw_"],
        r"vercel_blob_rw_[A-Za-z0-9]{16,20}_[A-Za-z0-9]{30,40}",
    ),
    Detector::token("lichess-token", "Lichess token", &["lip_"], r"lip_[A-Za-z0-9]{20}").entropy(3.6),
    Detector::token("thunderstore-token", "Thunderstore token", &["tss_"], r"tss_[A-Za-z0-9]{36}").entropy(3.8),
    Detector::token("zuplo-key", "Zuplo key", &["zpka_"], r"zpka_[A-Za-z0-9_]{35,45}").entropy(3.8),
    Detector::token("highnote-key", "Highnote key", &["sk_rx_", "rk_rx_"], r"[sr]k_rx_[A-Za-z0-9]{30,50}").entropy(3.6),
    Detector::token(
        "onfido-token",
        "Onfido token",
        &["api_live", "api_sandbox"],
        r"api_(?:live|sandbox)(?:_[a-z]{2})?\.[A-Za-z0-9_-]{11}\.[A-Za-z0-9_-]{32}",
    ),
    Detector::token("persona-key", "Persona key", &["persona_"], r"persona_(?:sandbox|production)_[0-9a-f-]{36}"),
];
