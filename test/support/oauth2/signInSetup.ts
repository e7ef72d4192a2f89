import { startFakeIdP } from "../../fakes/identity/server.ts"
import { type OAuth2Server, startOAuth2Server } from "../../fakes/oauth2/server.ts"
import { type IdPUnderTest } from "../identity/idp.ts"
import { otherOAuth2Server } from "./oauth2.ts"
import { type Service, type ServiceOptions, startService } from "../service.ts"
import { afterLogout, dashboard, type Stage } from "../identity/signIn.ts"

const { IDP_TEST_ADMIN_URL, IDP_TEST_PUBLIC_URL } = process.env

/** The service with an identity provider and an OAuth 2.0 server. */
export interface FullStage extends Stage, AsyncDisposable {
  readonly service: Service
  /** Introspects a token at the OAuth 2.0 server (RFC 7662). */
  readonly introspect: (token: string) => Promise<Readonly<Record<string, unknown>>>
  /** A secret; "" when the server requires none. */
  readonly adminToken: string
  /** The OAuth 2.0 server, if it is the fake one. */
  readonly fake: OAuth2Server | undefined
}

const otherIdP: IdPUnderTest | undefined =
  IDP_TEST_PUBLIC_URL === undefined || IDP_TEST_ADMIN_URL === undefined
    ? undefined
    : { publicUrl: IDP_TEST_PUBLIC_URL, adminUrl: IDP_TEST_ADMIN_URL, origin: dashboard }

/**
 * Uses the fakes, or the servers of IDP_TEST_* and OAUTH2_TEST_*, configured as in deploy. Those redirect browsers to
 * http://localhost:3000, so the service then uses that port. The options' settings override the defaults.
 */
export const startStage = async (options: ServiceOptions = {}): Promise<FullStage> => {
  await using started = new AsyncDisposableStack()
  const idp = otherIdP ?? (await fakeIdP(started))
  const adminToken = otherOAuth2Server === undefined ? "admin-token-for-nobody-else" : ""
  const fake =
    otherOAuth2Server === undefined ? started.use(await startOAuth2Server({ behaviour: { adminToken } })) : undefined
  const { adminUrl, publicUrl } = otherOAuth2Server ?? fake!
  const local = started.use(
    await startService({
      ...options,
      env: {
        ...(fake === undefined ? { PORT: "3000" } : {}),
        DASHBOARD_URL: dashboard,
        IDP_PUBLIC_URL: idp.publicUrl,
        IDP_ADMIN_URL: idp.adminUrl,
        OAUTH2_PUBLIC_URL: publicUrl,
        OAUTH2_ADMIN_URL: adminUrl,
        OAUTH2_ADMIN_TOKEN: adminToken,
        ...options.env
      }
    })
  )
  // The same host for all: browsers share cookies between the ports of a host.
  const { hostname } = new URL(idp.publicUrl)
  const service = { ...local, url: Object.assign(new URL(local.url), { hostname }).origin }
  if (fake !== undefined) {
    const bridge = `${service.url}/api/oauth2/bridge`
    const urls = { login: `${bridge}/login`, consent: `${bridge}/consent`, logout: `${bridge}/logout` }
    Object.assign(fake.urls, urls, { postLogout: afterLogout })
  }
  const introspect = async (token: string) => {
    const response = await fetch(`${adminUrl}/admin/oauth2/introspect`, {
      method: "POST",
      headers: adminToken === "" ? {} : { authorization: `Bearer ${adminToken}` },
      body: new URLSearchParams({ token })
    })
    return (await response.json()) as Readonly<Record<string, unknown>>
  }
  const parts = started.move()
  return { service, idp, publicUrl, introspect, adminToken, fake, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

const fakeIdP = async (started: AsyncDisposableStack) => {
  const fake = await startFakeIdP()
  started.defer(() => fake.close())
  return fake
}
