//! Payment, shops and shipping.

use crate::detector::Detector;

pub(super) const DETECTORS: &[Detector] = &[
    Detector::token("stripe-live-key", "Stripe live key", &["sk_live_", "rk_live_"], r"[sr]k_live_[A-Za-z0-9]{24,250}")
        .critical()
        .entropy(3.4),
    Detector::token("stripe-test-key", "Stripe test key", &["sk_test_", "rk_test_"], r"[sr]k_test_[A-Za-z0-9]{24,250}")
        .medium()
        .entropy(3.4),
    Detector::token("stripe-webhook-secret", "Stripe webhook secret", &["whsec_"], r"whsec_[A-Za-z0-9+/]{32,64}={0,2}")
        .entropy(3.6),
    Detector::token(
        "square-token",
        "Square token",
        &["sq0atp-", "sq0csp-", "sq0idp-"],
        r"sq0(?:atp-[A-Za-z0-9_-]{22}|csp-[A-Za-z0-9_-]{43})",
    )
    .critical(),
    Detector::token("square-access-token", "Square access token", &["eaaa"], r"EAAA[A-Za-z0-9_-]{60}")
        .critical()
        .entropy(4.0),
    Detector::token(
        "braintree-token",
        "PayPal Braintree token",
        &["access_token$production$"],
        r"access_token\$production\$[a-z0-9]{16}\$[0-9a-f]{32}",
    )
    .critical(),
    Detector::assigned("paypal-secret", "PayPal secret", &["paypal"], r"E[A-Za-z0-9_-]{79}").critical().entropy(4.4),
    Detector::token(
        "shopify-token",
        "Shopify token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    )
    .critical(),
    Detector::assigned(
        "plaid-secret",
        "Plaid secret",
        &["plaid"],
        r"(?:access-(?:sandbox|development|production)-[0-9a-f-]{36}|[0-9a-f]{30})",
    ),
    Detector::token("razorpay-key", "Razorpay key", &["rzp_live_"], r"rzp_live_[A-Za-z0-9]{14}"),
    Detector::token(
        "flutterwave-key",
        "Flutterwave secret key",
        &["flwseck-", "flwseck_"],
        r"FLWSECK[-_](?:TEST-)?[0-9a-zA-Z]{32}(?:-X)?",
    ),
    Detector::token(
        "adyen-api-key",
        "Adyen API key",
        &["aqe"],
        r"AQE[A-Za-z0-9+/=]{20,200}-[A-Za-z0-9+/=]{20,200}-[A-Za-z0-9+/=<>(){}\[\]&~^%$#@!*;:.,?_|-]{8,60}",
    )
    .entropy(4.0),
    Detector::assigned("gocardless-token", "GoCardless token", &["gocardless"], r"(?:live|sandbox)_[A-Za-z0-9_-]{40}"),
    Detector::assigned("lob-key", "Lob key", &["lob_"], r"(?:live|test)_[0-9a-f]{35}"),
    Detector::token(
        "duffel-token",
        "Duffel token",
        &["duffel_live_", "duffel_test_"],
        r"duffel_(?:live|test)_[A-Za-z0-9_-]{43}",
    ),
    Detector::token("easypost-key", "EasyPost key", &["ezak", "eztk"], r"EZ[AT]K[A-Za-z0-9]{54}"),
    Detector::token(
        "shippo-token",
        "Shippo token",
        &["shippo_live_", "shippo_test_"],
        r"shippo_(?:live|test)_[0-9a-f]{40}",
    ),
    Detector::assigned("mollie-key", "Mollie key", &["mollie"], r"(?:live|test)_[A-Za-z0-9]{30}"),
    Detector::token(
        "xendit-key",
        "Xendit key",
        &["xnd_production_", "xnd_development_"],
        r"xnd_(?:production|development)_[A-Za-z0-9]{40,60}",
    ),
    Detector::token(
        "mercadopago-token",
        "Mercado Pago token",
        &["app_usr-"],
        r"APP_USR-\d{13,18}-\d{6}-[0-9a-f]{32}-\d{6,11}",
    )
    .critical(),
    Detector::token("checkout-secret-key", "Checkout.com secret key", &["sk_"], r"sk_(?:sbox_)?[a-z0-9]{27}=?")
        .entropy(3.8),
    Detector::assigned("coinbase-secret", "Coinbase secret", &["coinbase"], r"[A-Za-z0-9_-]{64}").entropy(4.2),
    Detector::assigned("binance-secret", "Binance secret", &["binance"], r"[A-Za-z0-9]{64}").entropy(4.4),
    Detector::assigned("kraken-secret", "Kraken secret", &["kraken"], r"[A-Za-z0-9+/]{86}==").entropy(4.4),
    Detector::assigned(
        "ethereum-private-key",
        "Private key of a wallet",
        &["private_key", "privatekey", "wallet"],
        r"0x[0-9a-fA-F]{64}",
    )
    .critical()
    .entropy(3.4),
];
