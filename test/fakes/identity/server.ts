import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { type AddressInfo } from "node:net"
import { type IdPUnderTest } from "../../support/identity/idp.ts"
import { createIdentity, deleteIdentity, getIdentity, listIdentities, listMessages, putIdentity } from "./admin.ts"
import { show } from "./flows.ts"
import { beginLogin, submitLogin } from "./login.ts"
import { beginRecovery, openLink, submitRecovery } from "./recovery.ts"
import { beginLogout, listSessions, logout, logoutToken, revoke, whoami } from "./sessions.ts"
import { beginRegistration, submitRegistration } from "./registration.ts"
import { beginSettings, submitSettings } from "./settings.ts"
import { type Settings, State } from "./state.ts"
import { type Call, failure, missing, Refused, type Reply } from "./wire.ts"

type Page = (state: State, call: Call, id: string) => Reply

/** `METHOD path`, `:id` for one segment. */
const publicPages: Readonly<Record<string, Page>> = {
  "GET /health/ready": () => ({ status: 200, body: { status: "ok" } }),
  "GET /sessions/whoami": whoami,
  "GET /sessions": listSessions,
  "DELETE /sessions/:id": revoke,
  "GET /self-service/logout/browser": beginLogout,
  "GET /self-service/logout": logout,
  "DELETE /self-service/logout/api": logoutToken,
  "GET /self-service/login/browser": (state, call) => beginLogin(state, call, "browser"),
  "GET /self-service/login/api": (state, call) => beginLogin(state, call, "api"),
  "GET /self-service/login/flows": (state, call) => show(state, call, "login"),
  "POST /self-service/login": submitLogin,
  "GET /self-service/registration/api": beginRegistration,
  "POST /self-service/registration": submitRegistration,
  "GET /self-service/settings/browser": beginSettings,
  "GET /self-service/settings/flows": (state, call) => show(state, call, "settings"),
  "POST /self-service/settings": submitSettings,
  "GET /self-service/recovery/browser": (state, call) => beginRecovery(state, call, "browser"),
  "GET /self-service/recovery/api": (state, call) => beginRecovery(state, call, "api"),
  "GET /self-service/recovery": openLink,
  "POST /self-service/recovery": submitRecovery
}

const adminPages: Readonly<Record<string, Page>> = {
  "GET /admin/health/ready": () => ({ status: 200, body: { status: "ok" } }),
  "GET /admin/identities": listIdentities,
  "POST /admin/identities": createIdentity,
  "GET /admin/identities/:id": getIdentity,
  "PUT /admin/identities/:id": putIdentity,
  "DELETE /admin/identities/:id": (state, _call, id) => deleteIdentity(state, id),
  "GET /admin/courier/messages": listMessages
}

const find = (pages: Readonly<Record<string, Page>>, method: string, path: string) => {
  const exact = pages[`${method} ${path}`]
  if (exact !== undefined) return { page: exact, id: "" }
  const [, before = "", id = ""] = /^(\/(?:admin\/identities|sessions)\/)([^/]+)$/.exec(path) ?? []
  return { page: pages[`${method} ${before}:id`], id }
}

const cookiesOf = (header = "") =>
  new Map(
    header.split(";").flatMap((pair) => {
      const at = pair.indexOf("=")
      return at < 0 ? [] : [[pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const]
    })
  )

const bodyOf = async (request: IncomingMessage): Promise<Call["body"]> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString("utf8")
  if (text === "") return {}
  if (request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded"))
    return Object.fromEntries(new URLSearchParams(text))
  try {
    return JSON.parse(text) as Call["body"]
  } catch {
    throw failure({ status: 400, reason: "Unable to decode body" })
  }
}

/** PostgreSQL can't store NUL, which Kratos does not check in time. */
const checkNul = (body: Call["body"]) => {
  if (!JSON.stringify(body).includes("\\u0000")) return
  throw new Refused({
    status: 400,
    body: { error: { code: 500, message: "ERROR: unsupported Unicode escape sequence" } }
  })
}

const answer = async (
  state: State,
  pages: Readonly<Record<string, Page>>,
  request: IncomingMessage,
  response: ServerResponse
) => {
  let reply: Reply
  try {
    const url = new URL(request.url ?? "/", "http://localhost")
    const { id, page } = find(pages, request.method ?? "", url.pathname)
    const body = await bodyOf(request)
    checkNul(body)
    if (page === undefined) throw missing()
    const headers = request.headers as Readonly<Record<string, string>>
    const call: Call = {
      method: request.method ?? "",
      url,
      headers,
      cookies: cookiesOf(request.headers.cookie),
      body,
      json: request.headers.accept?.includes("application/json") === true,
      ip: `${request.socket.remoteAddress}:${request.socket.remotePort}`
    }
    reply = page(state, call, decodeURIComponent(id))
  } catch (cause) {
    if (cause instanceof Refused) reply = cause.reply
    else reply = { status: 500, body: { error: { code: 500, message: "fake idp", reason: String(cause) } } }
  }
  const { body, cookies = [], headers = {}, status } = reply
  response.writeHead(status, {
    ...(body === undefined ? {} : { "content-type": "application/json; charset=utf-8" }),
    ...headers,
    ...(cookies.length === 0 ? {} : { "set-cookie": [...cookies] })
  })
  response.end(body === undefined ? "" : JSON.stringify(body))
}

/** Settings that differ from the defaults. */
type FakeIdPOptions = Partial<Pick<Settings, "privilegedSeconds" | "flowSeconds" | "rp">> & {
  readonly methods?: Partial<Settings["methods"]>
}

/** A running server. */
export interface FakeIdP extends IdPUnderTest, AsyncDisposable {
  /** May be changed while the server runs. */
  readonly settings: Settings
  /** Makes all sign-ins older by so many ms. */
  readonly age: (millis: number) => void
  readonly close: () => Promise<void>
}

const methods = { password: true, totp: true, webauthn: true, passkey: true, lookup_secret: true, link: true }

const usual = (given: FakeIdPOptions): Settings => ({
  privilegedSeconds: given.privilegedSeconds ?? 900,
  flowSeconds: given.flowSeconds ?? 3600,
  sessionSeconds: 86_400,
  methods: { ...methods, ...given.methods },
  uiUrls: {
    login: "http://localhost:4455/login",
    registration: "http://localhost:4455/registration",
    settings: "http://localhost:4455/settings",
    recovery: "http://localhost:4455/recovery"
  },
  returnUrl: "http://localhost:4455/",
  allowedReturnUrls: ["http://localhost:3000", "http://localhost:4455"],
  rp: given.rp ?? { id: "localhost", name: "svc", origins: ["http://localhost:3000"] }
})

/** Listens on a free port. */
const listen = (server: Server) =>
  new Promise<string>((listening, failed) => {
    server.once("error", failed)
    server.listen(0, "127.0.0.1", () => listening(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })

/**
 * An identity provider that implements the parts of Ory Kratos v26.2.0's API that this project and its tests need:
 * sessions, the forms of login, settings and recovery with their CSRF protection, identities and messages. Everything is
 * in memory and on loopback.
 */
export const startFakeIdP = async (options: FakeIdPOptions = {}): Promise<FakeIdP> => {
  const state = new State(usual(options))
  const [own, admin] = [publicPages, adminPages].map((pages) =>
    createServer((request, response) => void answer(state, pages, request, response))
  ) as [Server, Server]
  const publicUrl = await listen(own)
  const adminUrl = await listen(admin)
  state.baseUrl = `${publicUrl}/`
  const close = async () => {
    for (const server of [own, admin]) {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
  }
  return {
    publicUrl,
    adminUrl,
    origin: state.settings.rp.origins[0]!,
    settings: state.settings,
    age: (millis) => {
      for (const session of state.sessions.values()) session.authenticatedAt -= millis
    },
    close,
    [Symbol.asyncDispose]: close
  }
}
