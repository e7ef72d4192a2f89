import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted } from "effect"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { providerSettings } from "../../../../src/layers/identity/providers/Settings.ts"

const read = (env: Readonly<Record<string, string>>) =>
  Effect.runPromise(
    providerSettings.pipe(
      Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(env))),
      Effect.match({ onFailure: ({ message }) => message, onSuccess: (all) => all })
    )
  )
const work = {
  SVC_SIGN_IN_WITH: "my-work",
  SVC_SIGN_IN_MY_WORK_ISSUER: "https://id.example.com/realms/main",
  SVC_SIGN_IN_MY_WORK_CLIENT_ID: "svc"
}

it("names the well-known ones, and lets others be named", async () => {
  assert.deepStrictEqual(await read({}), [])
  const all = await read({
    ...work,
    SVC_SIGN_IN_WITH: "google, my-work,github",
    SVC_SIGN_IN_GOOGLE_CLIENT_ID: "g",
    SVC_SIGN_IN_GITHUB_CLIENT_ID: "h",
    SVC_SIGN_IN_GITHUB_CLIENT_SECRET: "s"
  })
  assert.isArray(all)
  assert.deepStrictEqual(
    (all as Exclude<typeof all, string>).map(({ issuer, kind, label, scopes }) => [label, kind, issuer.href, scopes]),
    [
      ["Google", "oidc", "https://accounts.google.com/", ["openid", "email", "profile"]],
      ["my-work", "oidc", "https://id.example.com/realms/main", ["openid", "email", "profile"]],
      ["GitHub", "github", "https://github.com/", ["read:user", "user:email"]]
    ]
  )
})

it("takes the ids of further apps, of providers with ID tokens", async () => {
  const name = "SVC_SIGN_IN_MY_WORK_APP_CLIENT_IDS"
  const [one] = (await read({ ...work, [name]: "ios, android" })) as Exclude<Awaited<ReturnType<typeof read>>, string>
  assert.deepStrictEqual(one?.appClientIds, ["ios", "android"])
  const refusal = `${name} must be at most 20 ids, and only of a provider of OpenID Connect: others have no ID tokens`
  assert.strictEqual(await read({ ...work, [name]: Array.from({ length: 21 }, (_, i) => i).join() }), refusal)
  assert.strictEqual(await read({ ...work, [name]: "ios", SVC_SIGN_IN_MY_WORK_KIND: "github" }), refusal)
})

it("reads a secret from a file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "svc-provider-"))
  try {
    const path = join(folder, "secret")
    await writeFile(path, "from a file\n")
    const name = "SVC_SIGN_IN_MY_WORK_CLIENT_SECRET"
    const [one] = (await read({ ...work, [`${name}_FILE`]: path })) as Exclude<Awaited<ReturnType<typeof read>>, string>
    assert.strictEqual(one?.clientSecret && Redacted.value(one.clientSecret), "from a file")
    assert.strictEqual(
      await read({ ...work, [name]: "x", [`${name}_FILE`]: path }),
      `${name} and ${name}_FILE are both set: remove one`
    )
    await writeFile(path, "\n")
    assert.strictEqual(await read({ ...work, [`${name}_FILE`]: path }), `${name}_FILE names an empty file: ${path}`)
    const missing = `${path}-missing`
    assert.strictEqual(
      await read({ ...work, [`${name}_FILE`]: missing }),
      `${name}_FILE names a file that can't be read: ${missing}`
    )
  } finally {
    await rm(folder, { recursive: true })
  }
})

it.each<readonly [Readonly<Record<string, string>>, RegExp]>([
  [{ SVC_SIGN_IN_WITH: "Google" }, /^SVC_SIGN_IN_WITH must be names .* one is "Google"$/],
  [{ SVC_SIGN_IN_WITH: "a,a" }, /^SVC_SIGN_IN_WITH must be at most 12 different names$/],
  [{ SVC_SIGN_IN_WITH: "google" }, /^SVC_SIGN_IN_GOOGLE_CLIENT_ID must be set, because SVC_SIGN_IN_WITH has google$/],
  [{ ...work, SVC_SIGN_IN_MY_WORK_ISSUER: "" }, /^SVC_SIGN_IN_MY_WORK_ISSUER must be set/],
  [{ ...work, SVC_SIGN_IN_MY_WORK_ISSUER: "http://id.example.com" }, /_ISSUER must be an https URL/],
  [{ ...work, SVC_SIGN_IN_MY_WORK_ISSUER: "https://a:b@id.example.com" }, /_ISSUER must be an https URL/],
  [{ ...work, SVC_SIGN_IN_MY_WORK_ISSUER: "id.example.com" }, /_ISSUER must be an absolute URL/],
  [{ ...work, SVC_SIGN_IN_MY_WORK_KIND: "saml" }, /_KIND must be one of oidc, github/],
  [{ ...work, SVC_SIGN_IN_MY_WORK_SCOPES: "email" }, /_SCOPES must contain openid$/],
  [{ ...work, SVC_SIGN_IN_MY_WORK_LABEL: "x".repeat(41) }, /_LABEL must be at most 40 characters$/],
  [{ ...work, SVC_SIGN_IN_MY_WORK_KIND: "github" }, /_CLIENT_SECRET or \S+_CLIENT_SECRET_FILE must be set/]
])("refuses %j", async (env, message) => {
  const refused = await read(env)
  assert.isString(refused)
  assert.match(String(refused), message)
})
