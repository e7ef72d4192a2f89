/** Descriptions of the API, and other pages that need no key. */
import { request } from "../client.ts"
import { type Pattern, reads, requests } from "../pattern.ts"

const accepts = ["*/*", "application/json", "application/openapi+json", "text/html, */*;q=0.1"]

const keyless = (path: (n: number) => string, method = "GET") => requests(() => (n) => request(method, path(n), {}))

export const descriptions: ReadonlyArray<Pattern> = [
  {
    name: "description",
    title: "`GET /v1/db/` of 300 tables, as four media types",
    needs: ["tables"],
    attack: reads(
      (n) => (n % 2 === 0 ? "/v1/db/" : "/v1/db"),
      (n) => ({ accept: accepts[n % accepts.length] ?? "", ...(n % 3 === 0 ? { "accept-profile": "public" } : {}) })
    )
  },
  {
    name: "description-profiles",
    title: "the same of schemas that do not exist",
    needs: ["tables"],
    attack: reads(
      () => "/v1/db/",
      (n) => ({ "accept-profile": `schema_${n}` })
    )
  },
  { name: "docs", title: "`GET /docs`, without a key", attack: keyless(() => "/docs") },
  { name: "openapi", title: "`GET /openapi.json`, without a key", attack: keyless(() => "/openapi.json") },
  { name: "readyz", title: "`GET /readyz`, without a key", attack: keyless(() => "/readyz") },
  {
    name: "unknown-routes",
    title: "paths of 15 KB that have no route, without a key",
    attack: keyless((n) => `/api/${"a/".repeat(7_000)}${n}`)
  },
  {
    name: "unknown-tables",
    title: "tables that do not exist, each another, among 300",
    needs: ["tables"],
    attack: reads((n) => `/v1/db/many_x${n}`)
  },
  {
    name: "pages",
    title: "pages of OAuth 2.0 and of sign-in, without a key",
    attack: keyless((n) => `/oauth2/consent?consent_challenge=${n}`)
  }
]
