import { Validator } from "@seriousme/openapi-schema-validator"
import { assert, describe, inject, it } from "vitest"
import { findChromium, startChromium } from "../../support/browser/browser.ts"
import { ask } from "../../support/client.ts"

const service = inject("service")

interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly required?: ReadonlyArray<string> }>>
    readonly securitySchemes: Readonly<Record<string, object>>
  }
}
interface Operation {
  readonly summary?: string
  readonly security?: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >
}

const document = async () => (await ask(service, "GET /openapi.json")).json as Document

describe("/openapi.json", () => {
  it("is valid OpenAPI 3.1", async () => {
    const validator = new Validator()
    const { errors, valid } = await validator.validate((await document()) as object as Record<string, unknown>)
    assert.isTrue(valid, JSON.stringify(errors))
    assert.strictEqual(validator.version, "3.1")
  })

  it("has all routes, and only existing ones", async () => {
    const { paths } = await document()
    const found = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`)
    )
    assert.deepStrictEqual(found.sort(), [
      "DELETE /api/auth/account",
      "DELETE /api/auth/links/{provider}",
      "DELETE /api/auth/mfa/recovery-codes",
      "DELETE /api/auth/mfa/totp",
      "DELETE /api/auth/mfa/webauthn",
      "DELETE /api/auth/passkeys/{id}",
      "DELETE /api/auth/sessions",
      "DELETE /api/auth/sessions/{id}",
      "DELETE /api/backups/{id}",
      "DELETE /api/branches/{id}",
      "DELETE /api/connections/{id}",
      "DELETE /api/dashboard/session",
      "DELETE /api/environments/{id}",
      "DELETE /api/fdw/server/{server}",
      "DELETE /api/fdw/server/{server}/user-mapping/{local_user}",
      "DELETE /api/flags/segments/{key}",
      "DELETE /api/flags/{key}",
      "DELETE /api/functions/secrets/{secret}",
      "DELETE /api/functions/{name}",
      "DELETE /api/identities/{id}",
      "DELETE /api/identities/{id}/factors/{kind}",
      "DELETE /api/identities/{id}/sessions",
      "DELETE /api/keys/{id}",
      "DELETE /api/oauth2/clients/{id}",
      "DELETE /api/oauth2/consent/{subject}",
      "DELETE /api/queues/{queue}",
      "DELETE /api/realtime/subscribe",
      "DELETE /api/schedules/{id}",
      "DELETE /api/storage/buckets/{bucket}",
      "DELETE /api/storage/buckets/{bucket}/objects",
      "DELETE /api/webhooks/{id}",
      "DELETE /api/workspace/history",
      "DELETE /api/workspace/items/{id}",
      "DELETE /v1/db/{table}",
      "GET /.well-known/jwks.json",
      "GET /.well-known/oauth-authorization-server",
      "GET /.well-known/oauth-protected-resource",
      "GET /.well-known/openid-configuration",
      "GET /api/audit",
      "GET /api/auth/account",
      "GET /api/auth/links",
      "GET /api/auth/login/factor",
      "GET /api/auth/login/passkey",
      "GET /api/auth/methods",
      "GET /api/auth/mfa/status",
      "GET /api/auth/passkeys",
      "GET /api/auth/recovery",
      "GET /api/auth/session",
      "GET /api/auth/sessions",
      "GET /api/backups",
      "GET /api/backups/pitr",
      "GET /api/backups/pitr/changes",
      "GET /api/backups/pitr/drills",
      "GET /api/backups/{id}",
      "GET /api/backups/{id}/file",
      "GET /api/backups/{id}/globals",
      "GET /api/backups/{id}/objects",
      "GET /api/backups/{id}/objects/lost",
      "GET /api/branches",
      "GET /api/branches/{id}",
      "GET /api/branches/{id}/differences",
      "GET /api/branches/{id}/differences/count",
      "GET /api/branches/{id}/schema-changes",
      "GET /api/branches/{id}/tables",
      "GET /api/changes",
      "GET /api/charts",
      "GET /api/connections",
      "GET /api/connections/{id}",
      "GET /api/dashboard/config",
      "GET /api/dashboard/session",
      "GET /api/environments/{id}",
      "GET /api/flags",
      "GET /api/flags/segments",
      "GET /api/flags/segments/{key}",
      "GET /api/flags/segments/{key}/history",
      "GET /api/flags/status",
      "GET /api/flags/{key}",
      "GET /api/flags/{key}/history",
      "GET /api/functions",
      "GET /api/functions/secrets",
      "GET /api/functions/{name}",
      "GET /api/functions/{name}/logs",
      "GET /api/functions/{name}/versions",
      "GET /api/functions/{name}/versions/{version}/files",
      "GET /api/identities",
      "GET /api/identities/export",
      "GET /api/identities/{id}",
      "GET /api/identities/{id}/sessions",
      "GET /api/insights",
      "GET /api/keys",
      "GET /api/logs",
      "GET /api/mails",
      "GET /api/migrations/idempotent/status",
      "GET /api/migrations/preview/{migration_name}",
      "GET /api/oauth2/bridge/consent",
      "GET /api/oauth2/bridge/consent/info",
      "GET /api/oauth2/bridge/login",
      "GET /api/oauth2/bridge/logout",
      "GET /api/oauth2/bridge/status",
      "GET /api/oauth2/claims-config",
      "GET /api/oauth2/clients",
      "GET /api/oauth2/clients/{id}",
      "GET /api/oauth2/consent/{subject}",
      "GET /api/projects/{projectId}/environments",
      "GET /api/queues",
      "GET /api/queues/{queue}",
      "GET /api/queues/{queue}/messages",
      "GET /api/realtime/events",
      "GET /api/realtime/status",
      "GET /api/realtime/subscriptions",
      "GET /api/realtime/tables",
      "GET /api/requests",
      "GET /api/requests/keys",
      "GET /api/requests/minutes",
      "GET /api/schedules",
      "GET /api/schedules/times",
      "GET /api/schedules/{id}",
      "GET /api/schedules/{id}/runs",
      "GET /api/settings",
      "GET /api/sql/fdw",
      "GET /api/storage/buckets",
      "GET /api/storage/buckets/{bucket}/cors",
      "GET /api/storage/buckets/{bucket}/objects",
      "GET /api/storage/buckets/{bucket}/objects/multipart/parts",
      "GET /api/storage/buckets/{bucket}/objects/multipart/uploads",
      "GET /api/storage/buckets/{bucket}/objects/tags",
      "GET /api/storage/buckets/{bucket}/policy",
      "GET /api/webhooks",
      "GET /api/webhooks/{id}",
      "GET /api/webhooks/{id}/logs",
      "GET /api/workspace/history",
      "GET /api/workspace/items",
      "GET /api/workspace/items/{id}",
      "GET /auth/account",
      "GET /auth/administrator",
      "GET /auth/callback/{provider}",
      "GET /auth/factor",
      "GET /auth/keys",
      "GET /auth/login",
      "GET /auth/passkey",
      "GET /auth/password",
      "GET /auth/recovery",
      "GET /auth/register",
      "GET /auth/signed-out",
      "GET /auth/verify",
      "GET /healthz",
      "GET /oauth2/auth",
      "GET /oauth2/auth/{uid}",
      "GET /oauth2/consent",
      "GET /oauth2/error",
      "GET /oauth2/logout",
      "GET /oauth2/sessions/logout",
      "GET /oauth2/signed-out",
      "GET /oauth2/userinfo",
      "GET /readyz",
      "GET /realtime",
      "GET /v1/auth/identities",
      "GET /v1/database/schema",
      "GET /v1/database/types.ts",
      "GET /v1/db/",
      "GET /v1/db/rpc/{function}",
      "GET /v1/db/{table}",
      "GET /v1/functions/{name}",
      "GET /v1/keys",
      "GET /v1/status",
      "GET /v1/storage/buckets",
      "GET /v1/webhooks",
      "GET /v1/webhooks/{id}",
      "HEAD /api/storage/buckets/{bucket}/objects/metadata",
      "PATCH /api/auth/account",
      "PATCH /api/auth/passkeys/{id}",
      "PATCH /api/branches/{id}",
      "PATCH /api/connections/{id}",
      "PATCH /api/environments/{id}",
      "PATCH /api/flags/{key}/toggle",
      "PATCH /api/identities/{id}",
      "PATCH /api/keys/{id}",
      "PATCH /api/queues/{queue}",
      "PATCH /api/schedules/{id}",
      "PATCH /api/storage/buckets/{bucket}/objects/metadata",
      "PATCH /api/webhooks/{id}",
      "PATCH /api/workspace/items/{id}",
      "PATCH /v1/db/{table}",
      "POST /api/auth/account/email",
      "POST /api/auth/links/{provider}",
      "POST /api/auth/login",
      "POST /api/auth/login/factor",
      "POST /api/auth/login/passkey",
      "POST /api/auth/login/with/{provider}",
      "POST /api/auth/logout",
      "POST /api/auth/mfa/recovery-codes/confirm",
      "POST /api/auth/mfa/recovery-codes/generate",
      "POST /api/auth/mfa/totp/setup",
      "POST /api/auth/mfa/totp/verify",
      "POST /api/auth/mfa/webauthn/setup",
      "POST /api/auth/mfa/webauthn/verify",
      "POST /api/auth/passkeys/setup",
      "POST /api/auth/passkeys/verify",
      "POST /api/auth/reauthenticate",
      "POST /api/auth/recovery",
      "POST /api/auth/recovery/confirm",
      "POST /api/auth/register",
      "POST /api/auth/token",
      "POST /api/auth/verification",
      "POST /api/auth/verification/confirm",
      "POST /api/backups",
      "POST /api/backups/pitr",
      "POST /api/backups/pitr/drills",
      "POST /api/backups/pitr/key",
      "POST /api/backups/pitr/key/confirm",
      "POST /api/backups/{id}/cancel",
      "POST /api/backups/{id}/restore",
      "POST /api/branches",
      "POST /api/branches/{id}/copy-rows",
      "POST /api/branches/{id}/schema-changes",
      "POST /api/connections",
      "POST /api/connections/{id}/test",
      "POST /api/dashboard/session",
      "POST /api/fdw/import",
      "POST /api/fdw/server",
      "POST /api/fdw/user-mapping",
      "POST /api/flags",
      "POST /api/flags/evaluate",
      "POST /api/flags/evaluate/bulk",
      "POST /api/flags/segments",
      "POST /api/flags/{key}/promote",
      "POST /api/functions/{name}/call",
      "POST /api/functions/{name}/versions/{version}/select",
      "POST /api/identities",
      "POST /api/identities/import",
      "POST /api/identities/{id}/recovery",
      "POST /api/insights/advice",
      "POST /api/keys",
      "POST /api/mails/{id}/resend",
      "POST /api/migrations",
      "POST /api/migrations/baseline",
      "POST /api/migrations/idempotent/run",
      "POST /api/migrations/resolve",
      "POST /api/oauth2/bridge/consent/accept",
      "POST /api/oauth2/bridge/consent/reject",
      "POST /api/oauth2/claims-config/preview",
      "POST /api/oauth2/clients",
      "POST /api/oauth2/clients/{id}/rotate-secret",
      "POST /api/oauth2/keys/rotate",
      "POST /api/oauth2/logout",
      "POST /api/projects/{projectId}/environments",
      "POST /api/queues",
      "POST /api/queues/{queue}/messages",
      "POST /api/queues/{queue}/purge",
      "POST /api/queues/{queue}/put-back",
      "POST /api/realtime/clear-log",
      "POST /api/realtime/subscribe",
      "POST /api/schedules",
      "POST /api/schedules/{id}/run",
      "POST /api/storage/buckets",
      "POST /api/storage/buckets/{bucket}/objects/bulk-delete",
      "POST /api/storage/buckets/{bucket}/objects/multipart/abort",
      "POST /api/storage/buckets/{bucket}/objects/multipart/complete",
      "POST /api/storage/buckets/{bucket}/objects/multipart/init",
      "POST /api/storage/buckets/{bucket}/objects/multipart/presign-part",
      "POST /api/storage/buckets/{bucket}/objects/presign-download",
      "POST /api/storage/buckets/{bucket}/objects/presign-upload",
      "POST /api/storage/buckets/{bucket}/objects/presign-uploads",
      "POST /api/storage/buckets/{bucket}/objects/upload-text",
      "POST /api/webhooks",
      "POST /api/webhooks/{id}/replay/{logId}",
      "POST /api/webhooks/{id}/test",
      "POST /api/workspace/history",
      "POST /api/workspace/items",
      "POST /auth/account",
      "POST /auth/administrator",
      "POST /auth/factor",
      "POST /auth/keys",
      "POST /auth/login",
      "POST /auth/passkey",
      "POST /auth/password",
      "POST /auth/recovery",
      "POST /auth/register",
      "POST /auth/verify",
      "POST /auth/with",
      "POST /mcp",
      "POST /oauth2/auth",
      "POST /oauth2/consent",
      "POST /oauth2/introspect",
      "POST /oauth2/logout",
      "POST /oauth2/revoke",
      "POST /oauth2/sessions/logout",
      "POST /oauth2/token",
      "POST /oauth2/userinfo",
      "POST /ofrep/v1/evaluate/flags",
      "POST /ofrep/v1/evaluate/flags/{key}",
      "POST /v1/db/rpc/{function}",
      "POST /v1/db/{table}",
      "POST /v1/db/{table}/import",
      "POST /v1/functions/{name}",
      "POST /v1/queues/{queue}/ack",
      "POST /v1/queues/{queue}/extend",
      "POST /v1/queues/{queue}/receive",
      "POST /v1/queues/{queue}/send",
      "POST /v1/sql",
      "POST /v1/sql/transaction",
      "PUT /api/auth/password",
      "PUT /api/flags/segments/{key}",
      "PUT /api/flags/{key}",
      "PUT /api/functions/secrets",
      "PUT /api/functions/{name}",
      "PUT /api/oauth2/claims-config",
      "PUT /api/oauth2/clients/{id}",
      "PUT /api/storage/buckets/{bucket}/cors",
      "PUT /api/storage/buckets/{bucket}/objects/tags",
      "PUT /api/storage/buckets/{bucket}/policy",
      "PUT /v1/db/{table}"
    ])
    for (const line of found) {
      const [method = "", path = ""] = line.replace(/\{[^}]+\}/g, "0").split(" ")
      const reply = await fetch(`${service.url}${path}`, { method, redirect: "manual" })
      assert.notStrictEqual(reply.status, 405, line)
      // A record that does not exist has a code of its own.
      if (reply.status === 404) assert.notInclude(await reply.text(), '"code":"NOT_FOUND"', line)
    }
  })

  it("has one schema for errors, and requires a key except for health checks", async () => {
    const { components, paths } = await document()
    assert.includeMembers(
      [...(components.schemas["Error"]?.required ?? [])],
      ["error", "code", "message", "details", "hint", "request_id"]
    )
    assert.deepInclude(components.securitySchemes["apikey"], { type: "apiKey", in: "header", name: "apikey" })
    assert.deepInclude(components.securitySchemes["bearer"], { type: "http", scheme: "bearer" })
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        const about = `${method} ${path}`
        assert.isString(operation.summary, about)
        // Paths for users, with a session, a challenge, or in order to get a session.
        const personal = /^\/api\/auth\/|^\/api\/oauth2\/bridge\/|^\/oauth2\/|^\/auth\/|^\/\.well-known\//.test(path)
        const signsIn = /^(?:post|delete) \/api\/dashboard\/session$|^get \/api\/dashboard\/config$/.test(about)
        const open =
          personal || signsIn || path.startsWith("/.well-known/") || path === "/healthz" || path === "/readyz"
        assert.strictEqual(operation.security?.some((one) => "apikey" in one) ?? false, !open, about)
        for (const [status, { content }] of Object.entries(operation.responses)) {
          // OFREP's own errors have its own body.
          if (status < "400" || (path.startsWith("/ofrep/") && /^40[04]$/.test(status))) continue
          assert.deepStrictEqual(
            content?.["application/json"]?.schema,
            { $ref: "#/components/schemas/Error" },
            `${about} ${status}`
          )
        }
      }
    }
    for (const path of ["/oauth2/error", "/oauth2/signed-out"]) {
      assert.deepStrictEqual(paths[path]?.["get"]?.security, [], `${path} needs no session`)
    }
  })
})

it("/docs is a page of HTML", async () => {
  const reply = await ask(service, "GET /docs")
  assert.strictEqual(reply.status, 200)
  assert.match(reply.headers.get("content-type") ?? "", /^text\/html/)
  assert.match(reply.text, /^<!doctype html>/i)
})

const chromium = await findChromium()

it.runIf(chromium !== undefined)(
  "/docs asks nothing of other origins, and offers nothing of its tool's maker",
  async () => {
    await using browser = await startChromium(chromium ?? "")
    await using tab = await browser.open()
    const source = `window.violations = []
    addEventListener("securitypolicyviolation", ({ blockedURI, violatedDirective }) =>
      window.violations.push(violatedDirective + " " + blockedURI))`
    await tab.send("Page.enable")
    await tab.send("Page.addScriptToEvaluateOnNewDocument", { source })
    await tab.go(`${service.url}/docs`)
    const text = await tab.soon("document.body.innerText.includes('/v1/status') ? document.body.innerText : ''")
    for (const theirs of ["Developer Tools", "Generate SDKs", "Powered by Scalar", "Open API Client", "Ask AI"]) {
      assert.notInclude(text, theirs)
    }
    const asked =
      "JSON.stringify([window.violations, performance.getEntriesByType('resource').map(({ name }) => name)])"
    const [violations, names] = JSON.parse(await tab.soon(asked)) as [ReadonlyArray<string>, ReadonlyArray<string>]
    // A library in it tries whether it may compile code, and does without.
    assert.deepStrictEqual(
      violations.filter((violation) => violation !== "script-src eval"),
      []
    )
    for (const name of names) assert.match(name, new RegExp(`^(${service.url}/|data:|blob:)`))
  }
)
