"""Shapes of the credentials that vendors give out with a mark of their own, and of a few that are known by their name.

The facts (marks, alphabets, lengths) are those of gitleaks, in its default configuration (MIT licence,
github.com/gitleaks/gitleaks, config/gitleaks.toml). Of open-ended shapes the least length is asked for. Shapes that
have no mark (passwords, plain hexadecimal keys) are left out: without the words round them they look like hashes.
"""

from __future__ import annotations

ALNUM = "[A-Za-z0-9]"
URLSAFE = "[A-Za-z0-9_-]"
BASE64 = "[A-Za-z0-9+/]"
HEX = "[a-fA-F0-9]"
LOWER_HEX = "[a-f0-9]"
UPPER = "[A-Z0-9]"

SHAPES: dict[str, tuple[str, ...]] = {
    "1Password": (rf"A3-{UPPER}{{6}}-{UPPER}{{6}}-?{UPPER}{{5}}-{UPPER}{{5}}-{UPPER}{{5}}", rf"ops_eyJ{BASE64}{{250}}"),
    "Adobe": (rf"p8e-{ALNUM}{{32}}",),
    "age": ("AGE-SECRET-KEY-1[A-Z0-9]{58}",),
    "Airtable": (rf"pat{ALNUM}{{14}}\.{LOWER_HEX}{{64}}",),
    "Alibaba Cloud": (rf"LTAI{ALNUM}{{20}}",),
    "Anthropic": (rf"sk-ant-(?:api|admin|oat)\d\d-{URLSAFE}{{80}}",),
    "Artifactory": (rf"AKCp{ALNUM}{{69}}", rf"cmVmd{ALNUM}{{59}}"),
    "Atlassian": (r"ATATT3[A-Za-z0-9_=-]{186}",),
    "AWS": (
        r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])",
        rf"(?i:aws_secret_access_key)[\"']?\s{{0,3}}[=:]\s{{0,3}}[\"']?{BASE64}{{40}}",
        rf"ABSK{BASE64}{{109}}",
        "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t",
    ),
    "ClickHouse": (rf"4b1d{ALNUM}{{38}}(?!{ALNUM})",),
    "Clojars": (r"CLOJARS_[a-z0-9]{60}",),
    "Databricks": (rf"dapi{LOWER_HEX}{{32}}(?!{ALNUM})",),
    "DigitalOcean": (rf"do[opr]_v1_{LOWER_HEX}{{64}}",),
    "Doppler": (rf"dp\.pt\.{ALNUM}{{43}}",),
    "Duffel": (r"duffel_(?:test|live)_[A-Za-z0-9_=-]{43}",),
    "Dynatrace": (rf"dt0c01\.{ALNUM}{{24}}\.{ALNUM}{{64}}",),
    "EasyPost": (rf"EZ[AT]K{ALNUM}{{54}}",),
    "Facebook": (rf"EAA[MC]{ALNUM}{{100}}",),
    "Fly.io": (rf"fo1_{URLSAFE}{{43}}", rf"fm(?:1[ar]|2)_{BASE64}{{100}}"),
    "Google Cloud": (rf"AIza{URLSAFE}{{35}}(?!{URLSAFE})",),
    "GitHub": (rf"gh[opusr]_{ALNUM}{{36}}", r"github_pat_\w{82}"),
    "GitLab": (
        rf"gl(?:pat|dt|ffct|ft|rt|soat)-{URLSAFE}{{20}}",
        rf"glcbt-{ALNUM}{{1,5}}_{URLSAFE}{{20}}",
        rf"gl(?:imt-{URLSAFE}{{25}}|agent-{URLSAFE}{{50}}|oas-{URLSAFE}{{64}}|ptt-{LOWER_HEX}{{40}})",
        rf"GR1348941{URLSAFE}{{20}}",
    ),
    "Grafana": (rf"glc_{BASE64}{{32}}", rf"glsa_{ALNUM}{{32}}_{HEX}{{8}}", rf"eyJrIjoi{ALNUM}{{70}}"),
    "Harness": (rf"[ps]at\.{URLSAFE}{{22}}\.{ALNUM}{{24}}\.{ALNUM}{{20}}",),
    "HashiCorp": (
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60}",
        rf"hvb\.{URLSAFE}{{138}}",
        rf"hvs\.{URLSAFE}{{90}}",
    ),
    "Heroku": (rf"HRKU-AA{URLSAFE}{{58}}",),
    "Hugging Face": (r"(?:hf|api_org)_[A-Za-z]{34}(?![A-Za-z0-9])",),
    "Infracost": (rf"ico-{ALNUM}{{32}}(?!{URLSAFE})",),
    "Linear": (rf"lin_api_{ALNUM}{{40}}",),
    "MaxMind": (rf"{ALNUM}{{6}}_{ALNUM}{{29}}_mmk",),
    "Notion": (rf"ntn_\d{{11}}{ALNUM}{{35}}",),
    "npm": (rf"npm_{ALNUM}{{36}}",),
    "Octopus Deploy": (rf"API-{UPPER}{{26}}(?!{ALNUM})",),
    "OpenAI": (rf"sk-(?:proj|svcacct|admin)-{URLSAFE}{{58,74}}T3BlbkFJ", rf"sk-{ALNUM}{{20}}T3BlbkFJ{ALNUM}{{20}}"),
    "OpenShift": (rf"sha256~{URLSAFE}{{43}}(?!{URLSAFE})",),
    "Perplexity": (rf"pplx-{ALNUM}{{48}}",),
    "PlanetScale": (r"pscale_(?:tkn|oauth|pw)_[\w=.-]{32}",),
    "Postman": (rf"PMAK-{HEX}{{24}}-{HEX}{{34}}",),
    "Prefect": (rf"pnu_{ALNUM}{{36}}",),
    "Pulumi": (rf"pul-{LOWER_HEX}{{40}}",),
    "PyPI": (rf"pypi-AgEIcHlwaS5vcmc{URLSAFE}{{50}}",),
    "ReadMe": (r"rdme_[a-z0-9]{70}",),
    "RubyGems": (rf"rubygems_{LOWER_HEX}{{48}}",),
    "SendGrid": (r"SG\.[A-Za-z0-9=_.-]{66}",),
    "Brevo": (rf"xkeysib-{LOWER_HEX}{{64}}-{ALNUM}{{16}}",),
    "Sentry": (rf"sntrys_eyJpYXQiO{BASE64}{{60}}", rf"sntryu_{LOWER_HEX}{{64}}"),
    "Shippo": (rf"shippo_(?:live|test)_{HEX}{{40}}",),
    "Shopify": (rf"shp(?:at|ca|pa|ss)_{HEX}{{32}}",),
    "Slack": (
        rf"xox[bpe](?:-\d{{8,14}}){{1,3}}-{ALNUM}{{18}}",
        rf"xox[ar]-(?:\d-)?{ALNUM}{{20}}",
        r"xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{20}",
        r"xoxe(?:\.xox[bp])?-\d-[A-Za-z0-9]{146}",
    ),
    "Slack webhook": (r"(?<=hooks\.slack\.com/services/)T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{20,24}",),
    "Square": (rf"(?:EAAA|sq0atp-){URLSAFE}{{22,60}}(?!{URLSAFE})",),
    "Stripe": (rf"[sr]k_(?:test|live|prod)_{ALNUM}{{24}}",),
    "Telegram": (rf"\d{{8,10}}:AA{URLSAFE}{{33}}(?!{URLSAFE})",),
    "signed token (JWT)": (rf"eyJ{URLSAFE}{{17,400}}\.eyJ{URLSAFE}{{17}}",),
}
"""Kind of credential to the patterns that show it."""
