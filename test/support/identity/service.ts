import { Redacted } from "effect"
import { type FakeIdP, startFakeIdP } from "../../fakes/identity/server.ts"
import { type OAuth2Server, startOAuth2Server } from "../../fakes/oauth2/server.ts"
import { type Credential } from "../../../src/domain/identity/Identity.ts"
import { ask, type Reply, type Request } from "../client.ts"
import { type Service, startService } from "../service.ts"

/** The tests' DASHBOARD_URL. */
export const dashboard = "https://dashboard.example.com"

/** The service with an identity provider and an OAuth 2.0 server. */
export interface IdentityService extends AsyncDisposable {
  readonly service: Service
  readonly idp: FakeIdP
  readonly oauth2: OAuth2Server
}

/** `env` overrides the default settings. */
export const startIdentityService = async (env: Readonly<Record<string, string>> = {}): Promise<IdentityService> => {
  const [idp, oauth2] = await Promise.all([
    startFakeIdP({ rp: { id: "localhost", name: "svc", origins: ["http://localhost:3000"] } }),
    startOAuth2Server()
  ])
  const service = await startService({
    env: {
      IDP_PUBLIC_URL: idp.publicUrl,
      IDP_ADMIN_URL: idp.adminUrl,
      OAUTH2_PUBLIC_URL: oauth2.publicUrl,
      OAUTH2_ADMIN_URL: oauth2.adminUrl,
      ...env
    }
  })
  idp.settings.allowedReturnUrls = [service.url, dashboard]
  for (const step of ["login", "consent", "logout"] as const) {
    oauth2.urls[step] = `${service.url}/api/oauth2/bridge/${step}`
  }
  return {
    service,
    idp,
    oauth2,
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]()
      await Promise.all([idp.close(), oauth2[Symbol.asyncDispose]()])
    }
  }
}

/** The Cookie header of a session. */
export const cookieHeader = ({ _tag, value }: Credential) =>
  `${_tag === "Token" ? "svc_session" : "idp_session"}=${Redacted.value(value)}`

/** Makes a request with a session, from a page of the service itself. */
export const as = (
  service: Pick<Service, "url">,
  who: Credential,
  line: string,
  request: Request = {}
): Promise<Reply> =>
  ask(service, line, { ...request, headers: { cookie: cookieHeader(who), origin: service.url, ...request.headers } })
