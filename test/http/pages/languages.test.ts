import { assert, describe, it } from "@effect/vitest"
import { type HttpServerResponse } from "effect/http"
import { type ErrorCode } from "../../../src/domain/codes/ErrorCode.ts"
import { Forbidden } from "../../../src/domain/errors.ts"
import { passwordFaults } from "../../../src/domain/identity/Password.ts"
import {
  acceptedLanguage,
  languageOfLocales,
  type Language,
  languages,
  wordsOf
} from "../../../src/domain/language/Language.ts"
import * as account from "../../../src/http/pages/accounts/AccountPage.ts"
import * as mails from "../../../src/http/pages/accounts/MailPages.ts"
import * as provider from "../../../src/http/pages/accounts/ProviderPages.ts"
import * as signIn from "../../../src/http/pages/accounts/SignInPages.ts"
import { type Visit } from "../../../src/http/pages/accounts/Visit.ts"
import * as consent from "../../../src/http/pages/ConsentPage.ts"
import { html, type Look } from "../../../src/http/pages/Html.ts"
import * as logout from "../../../src/http/pages/LogoutPage.ts"
import * as notices from "../../../src/http/pages/NoticePages.ts"
import * as pages from "../../../src/http/pages/Pages.ts"

/** All texts, by their path. */
const textsOf = (value: unknown, path = ""): ReadonlyArray<readonly [path: string, text: string]> =>
  typeof value === "string"
    ? [[path, value]]
    : Object.entries(value as object).flatMap(([name, one]) => textsOf(one, `${path}.${name}`))

describe("the texts", () => {
  it.each(languages)("of %s are all that English has, filled in with the same", (language) => {
    const filledIn = (of: Language) =>
      textsOf(wordsOf(of))
        .map(([path, text]) => [path, ...new Set(text.match(/\{\w+\}/g) ?? [])].toSorted().join(" "))
        .toSorted()
    assert.deepStrictEqual(filledIn(language), filledIn("en"))
  })

  it("of faults of a password are those of the API", () => {
    assert.deepStrictEqual(wordsOf("en").passwordFaults, passwordFaults)
  })

  it("are complete sentences and free of mistakes that are easy to make", () => {
    for (const [path, text] of languages.flatMap((language) => textsOf(wordsOf(language)))) {
      assert.strictEqual(text, text.trim(), path)
      assert.isNotEmpty(text, path)
      assert.notMatch(text, / {2}|\s[.,;:!?]|\.\.$/, path)
    }
    for (const [path, text] of textsOf(wordsOf("de"))) assert.notMatch(text, /\b(?:du|dein\w*|dich|dir)\b/i, path)
  })
})

describe("the language", () => {
  it.each<readonly [string | undefined, Language]>([
    [undefined, "en"],
    ["", "en"],
    ["de", "de"],
    ["de-AT,de;q=0.9,en;q=0.8", "de"],
    ["fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "en"],
    ["en;q=0.2,de;q=0.3", "de"],
    ["de;q=0", "en"],
    ["de;q=0,en;q=0", "en"],
    ["DE_de,de", "de"],
    ["den", "en"],
    [`${"x,".repeat(100_000)}de`, "en"],
    ["\u0000;q=;;;,", "en"]
  ])("of Accept-Language %s is %s", (header, language) => {
    assert.strictEqual(acceptedLanguage(header), language)
  })

  it("of ui_locales is the first that there is", () => {
    assert.strictEqual(languageOfLocales("fr-CA de-CH en"), "de")
    assert.isUndefined(languageOfLocales("fr it"))
    assert.isUndefined(languageOfLocales(""))
  })
})

const look = (language: Language): Look & { brand: { name: string; logoUrl: undefined; color: undefined } } => ({
  language,
  brand: { name: "Acme", logoUrl: undefined, color: undefined }
})
const visitIn = (language: Language): Visit => ({
  browser: { baseUrl: "http://a.example", credentials: [], returnTo: undefined, address: "::1", secure: false },
  look: look(language),
  words: wordsOf(language),
  fields: new URLSearchParams(),
  returnTo: undefined,
  hidden: html``,
  query: ""
})
const methods = {
  password: true,
  passkey: true,
  registration: true,
  mail: true,
  verification: false,
  providers: [{ id: "work", label: "Work" }]
}
const time = "2026-01-02T03:04:05Z"
const identity = {
  id: "1",
  state: "active" as const,
  schema_id: "default",
  traits: { email: "ann@x.example" },
  metadata_public: {},
  addresses: [{ value: "ann@x.example", verified: false }],
  created_at: time,
  updated_at: time
}
const view = {
  identity,
  factors: {
    totp: true,
    webauthn: [{ id: "1", displayName: "Yubi", addedAt: time }],
    recoveryCodes: { count: 12, used: 2 }
  },
  passkeys: [
    { id: "1", display_name: "P", added_at: time, last_used_at: null, backed_up: true },
    { id: "2", display_name: "Q", added_at: time, last_used_at: time, backed_up: true }
  ],
  sessions: [true, false].map((current) => ({
    id: String(current),
    current,
    aal: "aal1" as const,
    authenticated_at: time,
    issued_at: time,
    expires_at: time,
    devices: [{ ip_address: "::1", user_agent: null, location: null }]
  })),
  providers: [
    { id: "work", label: "Work" },
    { id: "github", label: "GitHub" }
  ],
  links: [{ id: "work", label: "Work", account: "a@work.example", added_at: time, last_used_at: null }]
}
const client = {
  client_id: "shop",
  client_name: "Shop",
  logo_uri: "",
  tos_uri: "https://a.example",
  policy_uri: "https://a.example"
}
const request = {
  challenge: "x",
  client: { ...client, redirect_uris: ["https://shop.example/back"] },
  requestUrl: "",
  requestedScope: ["openid", "email", "data", "odd"],
  requestedAudience: ["https://api.example"],
  subject: "1",
  skip: false
}
type Page = HttpServerResponse.HttpServerResponse
const error = new Forbidden({ error: "x", code: "CSRF" })

/** How each page is shown; all of its variants. */
const shown: Readonly<
  Record<string, (visit: Visit, look: ReturnType<typeof visitIn>["look"] & { brand: never }) => ReadonlyArray<Page>>
> = {
  loginPage: (visit) => [signIn.loginPage(visit, methods, {}), signIn.loginPage(visit, methods, { account: "ann" })],
  passkeyPage: (visit) => [signIn.passkeyPage(visit, { flowId: "1", publicKey: {} })],
  registerPage: (visit) => [signIn.registerPage(visit, methods, {})],
  factorPage: (visit) => [
    signIn.factorPage(visit, { totp: true, webauthn: { flowId: "1", options: { publicKey: {} } }, recoveryCodes: true })
  ],
  newPasswordPage: (visit) => [signIn.newPasswordPage(visit, "ann")],
  askPage: (visit) => [mails.askPage(visit, "recovery"), mails.askPage(visit, "verify")],
  codePage: (visit) => [mails.codePage(visit, "recovery", "1")],
  linkPage: (visit) => [mails.linkPage(visit, "recovery", "1", "2"), mails.linkPage(visit, "verify", "1", "2")],
  noticePage: (visit) => [
    mails.noticePage(visit, visit.words.signedOut.title, visit.words.common.close, {
      href: "login",
      text: visit.words.common.signIn
    })
  ],
  accountPage: (visit) => [
    account.accountPage(visit, view),
    account.accountPage(visit, {
      ...view,
      factors: { totp: false, webauthn: [], recoveryCodes: { count: 0, used: 0 } }
    })
  ],
  totpPage: (visit) => [account.totpPage(visit, { flowId: "1", secret: "ABCD", uri: "otpauth://totp/a" })],
  codesPage: (visit) => [account.codesPage(visit, "1", ["a", "b"])],
  newKeyPage: (visit) => [
    account.newKeyPage(visit, "passkey", { flowId: "1", publicKey: {} }),
    account.newKeyPage(visit, "key", { flowId: "1", publicKey: {} })
  ],
  administratorPage: (visit) =>
    [undefined, "ann"].map((name) =>
      signIn.administratorPage(visit, { flow: "1", token: "2", here: "http://a.example", account: name })
    ),
  providerFailurePage: (visit) =>
    (Object.keys(wordsOf("en").providerFailures) as ReadonlyArray<ErrorCode>).flatMap((code) =>
      [true, false].map((linking) =>
        provider.providerFailurePage(visit, "Work", linking, new Forbidden({ error: "x", code }))
      )
    ),
  consentPage: (_visit, look) =>
    [request, { ...request, requestedScope: [] }].map((one) =>
      consent.consentPage({
        request: one as never,
        account: "ann",
        token: "t",
        scopes: { own: {}, dataScopes: ["data"] },
        look
      })
    ),
  logoutPage: (_visit, look) => [logout.logoutPage({ look, challenge: "x", token: "t", account: "ann" })],
  stillSignedInPage: (_visit, look) => [logout.stillSignedInPage(look)],
  signedOutPage: (_visit, look) => [notices.signedOutPage(look)],
  oauth2ErrorPage: (_visit, look) =>
    [...Object.keys(wordsOf("en").oauth2Errors), "other"].map((code) => notices.oauth2ErrorPage(code, look)),
  failurePage: ({ look }) =>
    [...(Object.keys(wordsOf("en").failures) as ReadonlyArray<ErrorCode>), "CONFLICT" as const].map((code) =>
      pages.failurePage(new Forbidden({ ...error, error: "x", code }), look.language)
    ),
  redirectPage: ({ look }) => [pages.redirectPage("http://a.example", look.language)]
}

const textIn = (page: Page) => {
  const { body } = page
  const document = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
  return {
    document,
    text: document
      .replaceAll(/<(style|script)>[\s\S]*?<\/\1>/g, " ")
      .replaceAll(/(?:aria-label|data-known|data-unused|value)="([^"]*)"/g, ">$1<")
      .replaceAll(/<[^>]*>/g, " ")
      .replaceAll("&#39;", "'")
      .replaceAll(/\s+/g, " ")
  }
}

/** What is written in a language, and in no other. */
const partsOf = (language: Language): RegExp => {
  const others = languages
    .filter((one) => one !== language)
    .flatMap((one) => textsOf(wordsOf(one)).map(([, text]) => text))
  const parts = textsOf(wordsOf(language))
    .flatMap(([, text]) => text.split(/\{\w+\}/).map((part) => part.trim()))
    .filter((part) => part.length > 3 && !others.some((other) => other.includes(part)))
  return new RegExp(
    `(?<!\\p{L})(?:${parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join("|")})(?!\\p{L})`,
    "u"
  )
}
const parts = { en: partsOf("en"), de: partsOf("de") }

describe("every page", () => {
  it("is in the list", () => {
    const all = [account, mails, provider, signIn, consent, logout, notices, pages]
    const names = all
      .flatMap((module) => Object.keys(module))
      .filter((name) => name.endsWith("Page") && name !== "withFailurePage")
    // For operators who install the service.
    assert.sameMembers(names, [...Object.keys(shown), "notBuiltPage"])
  })

  it.each(Object.keys(shown))("is in one language: %s", (name) => {
    for (const language of languages) {
      for (const page of shown[name]!(visitIn(language), look(language) as never)) {
        const { document, text } = textIn(page)
        assert.include(document, `<html lang="${language}">`)
        assert.match(text, parts[language], `${name} in ${language}`)
        for (const other of languages)
          if (other !== language) assert.notMatch(text, parts[other], `${name} in ${language}`)
        assert.notMatch(text, /\{\w+\}|undefined/, name)
      }
    }
  })
})
