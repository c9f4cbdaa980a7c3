//! Chat, mail and telephony.

use crate::detector::Detector;
use crate::prefixless;

pub(super) const DETECTORS: &[Detector] = &[
    Detector::token(
        "slack-bot-token",
        "Slack bot token",
        &["xoxb-"],
        r"xoxb-\d{9,14}-(?:\d{9,14}-)?[A-Za-z0-9]{18,34}",
    )
    .critical(),
    Detector::token(
        "slack-user-token",
        "Slack user token",
        &["xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-"],
        r"xox[parso]-(?:\d-)?(?:\d{9,14}-){1,3}[A-Za-z0-9]{18,64}",
    )
    .critical(),
    Detector::token(
        "slack-config-token",
        "Slack configuration token",
        &["xoxe.", "xoxe-"],
        r"xoxe(?:\.xox[bp])?-\d-[A-Za-z0-9]{100,200}",
    )
    .critical(),
    Detector::token("slack-cookie", "Slack session cookie", &["xoxd-"], r"xoxd-[A-Za-z0-9%/+]{80,300}")
        .critical()
        .entropy(4.0),
    Detector::token("slack-app-token", "Slack app token", &["xapp-"], r"xapp-\d-[A-Z0-9]{9,14}-\d{10,14}-[0-9a-f]{64}")
        .critical(),
    Detector::token(
        "slack-webhook",
        "Slack webhook",
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(T[A-Z0-9]{7,12}/[A-Z]?[A-Z0-9]{7,14}/[A-Za-z0-9]{20,48})",
    )
    .entropy(3.5),
    Detector::token(
        "discord-webhook",
        "Discord webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        r"discord(?:app)?\.com/api/webhooks/(\d{17,20}/[A-Za-z0-9_-]{60,72})",
    ),
    Detector::assigned(
        "discord-bot-token",
        "Discord bot token",
        &["discord", "token"],
        r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}",
    )
    .critical()
    .entropy(4.0),
    Detector::assigned("discord-client-secret", "Discord client secret", &["discord"], r"[A-Za-z0-9_-]{32}")
        .entropy(4.0),
    Detector::reader("telegram-bot-token", "Telegram bot token", &[":aa"], prefixless::telegram).critical(),
    Detector::token(
        "teams-webhook",
        "Microsoft Teams webhook",
        &["webhook.office.com/webhookb2/"],
        r"webhook\.office\.com/webhookb2/([0-9a-f-]{36}@[0-9a-f-]{36}/IncomingWebhook/[0-9a-f]{32}/[0-9a-f-]{36})",
    ),
    Detector::token(
        "google-chat-webhook",
        "Google Chat webhook",
        &["chat.googleapis.com/"],
        r"chat\.googleapis\.com/v1/spaces/[A-Za-z0-9_-]+/messages\?key=[A-Za-z0-9_-]+&token=([A-Za-z0-9_%-]{30,60})",
    ),
    Detector::assigned("mattermost-token", "Mattermost token", &["mattermost"], r"[a-z0-9]{26}").entropy(3.6),
    Detector::token(
        "twilio-api-key",
        "Twilio API key",
        &[
            "sk0", "sk1", "sk2", "sk3", "sk4", "sk5", "sk6", "sk7", "sk8", "sk9", "ska", "skb", "skc", "skd", "ske",
            "skf",
        ],
        r"SK[0-9a-f]{32}",
    )
    .entropy(3.2),
    Detector::assigned("twilio-auth-token", "Twilio auth token", &["twilio"], r"[0-9a-f]{32}").entropy(3.2),
    Detector::token("sendgrid-api-key", "SendGrid API key", &["sg."], r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}")
        .critical(),
    Detector::token("mailgun-api-key", "Mailgun API key", &["key-"], r"key-[0-9a-f]{32}"),
    Detector::assigned("mailgun-signing-key", "Mailgun key", &["mailgun"], r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}"),
    Detector::reader("mailchimp-api-key", "Mailchimp API key", &["-us"], prefixless::mailchimp),
    Detector::token(
        "brevo-api-key",
        "Brevo API key",
        &["xkeysib-", "xsmtpsib-"],
        r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}",
    ),
    Detector::token("resend-api-key", "Resend API key", &["re_"], r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,28}").entropy(3.6),
    Detector::assigned(
        "postmark-token",
        "Postmark token",
        &["postmark"],
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    Detector::assigned("mandrill-api-key", "Mandrill API key", &["mandrill"], r"(?:md-)?[A-Za-z0-9_-]{22}")
        .entropy(3.6),
    Detector::assigned("sparkpost-api-key", "SparkPost API key", &["sparkpost"], r"[0-9a-f]{40}").entropy(3.2),
    Detector::token("mailersend-api-key", "MailerSend API key", &["mlsn."], r"mlsn\.[0-9a-f]{64}"),
    Detector::assigned("messagebird-key", "MessageBird key", &["messagebird"], r"(?:live_)?[A-Za-z0-9]{25}")
        .entropy(3.6),
    Detector::assigned("vonage-secret", "Vonage secret", &["vonage", "nexmo"], r"[A-Za-z0-9]{16}").entropy(3.3),
    Detector::assigned("plivo-auth-token", "Plivo auth token", &["plivo"], r"[A-Za-z0-9]{40}").entropy(4.0),
    Detector::assigned("zoom-secret", "Zoom secret", &["zoom"], r"[A-Za-z0-9]{32,36}").entropy(4.0),
    Detector::assigned("twitch-secret", "Twitch secret", &["twitch"], r"(?:oauth:)?[a-z0-9]{30}").entropy(3.8),
    Detector::assigned("pusher-secret", "Pusher secret", &["pusher"], r"[0-9a-f]{20}").entropy(3.0),
];
