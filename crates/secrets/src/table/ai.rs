//! AI models and the services around them.

use crate::detector::Detector;

pub(super) const DETECTORS: &[Detector] = &[
    Detector::token(
        "openai-api-key",
        "OpenAI API key",
        &["sk-"],
        r"sk-(?:proj-|svcacct-|admin-|None-)?[A-Za-z0-9_-]{20,80}T3BlbkFJ[A-Za-z0-9_-]{20,80}",
    )
    .critical(),
    Detector::token(
        "openai-project-key",
        "OpenAI project key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-"],
        r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,200}",
    )
    .critical(),
    Detector::token(
        "anthropic-api-key",
        "Anthropic API key",
        &["sk-ant-"],
        r"sk-ant-(?:api|admin|oat|ort|sid)\d{2}-[A-Za-z0-9_-]{80,120}",
    )
    .critical(),
    Detector::token("huggingface-token", "Hugging Face token", &["hf_"], r"hf_[A-Za-z]{34,40}"),
    Detector::token(
        "huggingface-org-token",
        "Hugging Face organisation token",
        &["api_org_"],
        r"api_org_[A-Za-z]{34,40}",
    ),
    Detector::token("replicate-token", "Replicate token", &["r8_"], r"r8_[A-Za-z0-9]{37,40}"),
    Detector::token("groq-api-key", "Groq API key", &["gsk_"], r"gsk_[A-Za-z0-9]{50,56}"),
    Detector::token("xai-api-key", "xAI API key", &["xai-"], r"xai-[A-Za-z0-9]{70,90}"),
    Detector::token("perplexity-api-key", "Perplexity API key", &["pplx-"], r"pplx-[A-Za-z0-9]{40,56}"),
    Detector::token("openrouter-api-key", "OpenRouter API key", &["sk-or-v1-"], r"sk-or-v1-[0-9a-f]{64}"),
    Detector::token("together-api-key", "Together AI key", &["tgp_v1_"], r"tgp_v1_[A-Za-z0-9_-]{40,50}"),
    Detector::token("fireworks-api-key", "Fireworks AI key", &["fw_"], r"fw_[A-Za-z0-9]{22,26}").entropy(3.4),
    Detector::token(
        "langsmith-key",
        "LangSmith key",
        &["lsv2_pt_", "lsv2_sk_"],
        r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
    ),
    Detector::token(
        "langfuse-secret-key",
        "Langfuse secret key",
        &["sk-lf-"],
        r"sk-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    Detector::token("pinecone-api-key", "Pinecone API key", &["pcsk_"], r"pcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{50,70}"),
    Detector::token("nvidia-api-key", "NVIDIA API key", &["nvapi-"], r"nvapi-[A-Za-z0-9_-]{60,70}"),
    Detector::token("tavily-api-key", "Tavily API key", &["tvly-"], r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{28,40}"),
    Detector::token("jina-api-key", "Jina API key", &["jina_"], r"jina_[0-9a-f]{32}[A-Za-z0-9_-]{28}"),
    Detector::token("cerebras-api-key", "Cerebras API key", &["csk-"], r"csk-[a-z0-9]{48}"),
    Detector::token("firecrawl-api-key", "Firecrawl API key", &["fc-"], r"fc-[0-9a-f]{32}"),
    Detector::token("voyage-api-key", "Voyage AI key", &["pa-"], r"pa-[A-Za-z0-9_-]{43}").entropy(4.0),
    Detector::token("elevenlabs-api-key", "ElevenLabs API key", &["sk_"], r"sk_[0-9a-f]{48}"),
    Detector::token("deepseek-api-key", "DeepSeek API key", &["sk-"], r"sk-[0-9a-f]{32}"),
    Detector::token("stability-api-key", "API key of the `sk-` form", &["sk-"], r"sk-[A-Za-z0-9]{48}").entropy(4.2),
    Detector::assigned("cohere-api-key", "Cohere API key", &["cohere"], r"[A-Za-z0-9]{40}").entropy(4.0),
    Detector::assigned("mistral-api-key", "Mistral API key", &["mistral"], r"[A-Za-z0-9]{32}").entropy(4.0),
    Detector::assigned("wandb-api-key", "Weights & Biases API key", &["wandb"], r"[0-9a-f]{40}").entropy(3.2),
    Detector::assigned("deepgram-api-key", "Deepgram API key", &["deepgram"], r"[0-9a-f]{40}").entropy(3.2),
    Detector::assigned("assemblyai-api-key", "AssemblyAI API key", &["assemblyai", "assembly_ai"], r"[0-9a-f]{32}")
        .entropy(3.2),
    Detector::assigned("gemini-api-key", "Gemini API key", &["gemini"], r"AQ\.[A-Za-z0-9_-]{40,60}").entropy(4.0),
];
