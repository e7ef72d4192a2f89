import { setTimeout as sleep } from "node:timers/promises"
import { startFakeIdP } from "../../fakes/identity/server.ts"
import { type OAuth2Server, startOAuth2Server } from "../../fakes/oauth2/server.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { sql } from "../client.ts"
import { type IdPUnderTest } from "../identity/idp.ts"
import { otherOAuth2Server } from "./oauth2.ts"
import { type Service, type ServiceOptions, startService } from "../service.ts"
import { afterLogout, dashboard, type Stage } from "../identity/signIn.ts"

const { IDP_TEST_ADMIN_URL, IDP_TEST_PUBLIC_URL } = process.env

/** The service with an identity provider and an OAuth 2.0 server. */
export interface FullStage extends Stage, AsyncDisposable {
  readonly service: Service
  /** Introspects a token at the OAuth 2.0 server (RFC 7662); at the embedded one as the client of the token. */
  readonly introspect: (
    token: string,
    client: { readonly id: string; readonly secret: string }
  ) => Promise<Readonly<Record<string, unknown>>>
  /** A secret; "" when the server requires none. */
  readonly adminToken: string
  /** Makes all sign-ins older, in ms. Waits if one of the servers is neither a fake nor in the service. */
  readonly age: (millis: number) => Promise<void>
  /** The OAuth 2.0 server, if it is the fake one. */
  readonly fake: OAuth2Server | undefined
}

const otherIdP: IdPUnderTest | undefined =
  IDP_TEST_PUBLIC_URL === undefined || IDP_TEST_ADMIN_URL === undefined
    ? undefined
    : { publicUrl: IDP_TEST_PUBLIC_URL, adminUrl: IDP_TEST_ADMIN_URL, origin: dashboard }

/** Which OAuth 2.0 server takes part: the fake or that of OAUTH2_TEST_*, or the one in the service. */
export const oauth2Servers = ["external", "embedded"] as const

/**
 * Uses the fakes, or the servers of IDP_TEST_* and OAUTH2_TEST_*, configured as in deploy. Those redirect browsers to
 * http://localhost:3000, so the service then uses that port. The options' settings override the defaults.
 */
export const startStage = async (
  options: ServiceOptions = {},
  which: (typeof oauth2Servers)[number] = "external"
): Promise<FullStage> => {
  await using started = new AsyncDisposableStack()
  const fakeOfIdP = otherIdP === undefined ? await fakeIdP(started) : undefined
  const idp = otherIdP ?? fakeOfIdP!
  const oauth2 = which === "embedded" ? await embeddedServer() : await externalServer(started)
  const local = started.use(
    await startService({
      ...options,
      env: {
        DASHBOARD_URL: dashboard,
        IDP_PUBLIC_URL: idp.publicUrl,
        IDP_ADMIN_URL: idp.adminUrl,
        ...oauth2.env,
        ...options.env
      }
    })
  )
  const { adminToken, fake, introspect, publicUrl } = oauth2
  // The same host for all: browsers share cookies between the ports of a host.
  const { hostname } = new URL(idp.publicUrl)
  const service = { ...local, url: Object.assign(new URL(local.url), { hostname }).origin }
  if (fake !== undefined) {
    const bridge = `${service.url}/api/oauth2/bridge`
    const urls = { login: `${bridge}/login`, consent: `${bridge}/consent`, logout: `${bridge}/logout` }
    Object.assign(fake.urls, urls, { postLogout: afterLogout })
  }
  const age = async (millis: number) => {
    if (fakeOfIdP === undefined || (which === "external" && fake === undefined)) return void (await sleep(millis))
    for (const server of [fakeOfIdP, fake]) server?.age(millis)
    if (which === "external") return
    await sql(
      service,
      `update svc.oauth2_items set payload = jsonb_set(payload::jsonb, '{loginTs}', to_jsonb((payload::jsonb ->> 'loginTs')::float8 - $1::float8))::text
       where kind = 'Session' and payload::jsonb ? 'loginTs'`,
      [Math.ceil(millis / 1000)]
    )
  }
  const parts = started.move()
  return {
    service,
    idp,
    publicUrl,
    introspect,
    adminToken,
    age,
    fake,
    [Symbol.asyncDispose]: () => parts.disposeAsync()
  }
}

const introspected = async (url: string, token: string, headers: Readonly<Record<string, string>>) => {
  const response = await fetch(url, { method: "POST", headers, body: new URLSearchParams({ token }) })
  return (await response.json()) as Readonly<Record<string, unknown>>
}

type Introspect = FullStage["introspect"]

const externalServer = async (started: AsyncDisposableStack) => {
  const adminToken = otherOAuth2Server === undefined ? "admin-token-for-nobody-else" : ""
  const fake =
    otherOAuth2Server === undefined ? started.use(await startOAuth2Server({ behaviour: { adminToken } })) : undefined
  const { adminUrl, publicUrl } = otherOAuth2Server ?? fake!
  const introspect: Introspect = (token) =>
    introspected(
      `${adminUrl}/admin/oauth2/introspect`,
      token,
      adminToken === "" ? {} : { authorization: `Bearer ${adminToken}` }
    )
  const env = {
    ...(fake === undefined ? { PORT: "3000" } : {}),
    OAUTH2_PUBLIC_URL: publicUrl,
    OAUTH2_ADMIN_URL: adminUrl,
    OAUTH2_ADMIN_TOKEN: adminToken
  }
  return { env, adminToken, fake, introspect, publicUrl }
}

/** Its issuer must be known when the service starts. */
const embeddedServer = async () => {
  const port = String(await freePort())
  const publicUrl = `http://127.0.0.1:${port}`
  const introspect: Introspect = (token, { id, secret }) =>
    introspected(`${publicUrl}/oauth2/introspect`, token, {
      authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`
    })
  return { env: { PORT: port, PUBLIC_URL: publicUrl }, adminToken: "", fake: undefined, introspect, publicUrl }
}

const fakeIdP = async (started: AsyncDisposableStack) => {
  const fake = await startFakeIdP()
  started.defer(() => fake.close())
  return fake
}
