import { createHmac, randomBytes, randomUUID } from "node:crypto"

export type Method = "password" | "totp" | "webauthn" | "passkey" | "lookup_secret" | "link"

/** The configuration of the server. May be changed while it runs. */
export interface Settings {
  /** How long after a sign-in factors may be changed, in s. */
  privilegedSeconds: number
  /** How long a flow is valid, in s. */
  flowSeconds: number
  sessionSeconds: number
  methods: Readonly<Record<Method, boolean>>
  /** Pages of the application, one per kind of form; `?flow=<id>` is appended. */
  uiUrls: Readonly<Record<FlowKind, string>>
  /** Where a browser is redirected without return_to. */
  returnUrl: string
  /** Allowed prefixes of return_to, beside the server's own URL. */
  allowedReturnUrls: ReadonlyArray<string>
  rp: { readonly id: string; readonly name: string; readonly origins: ReadonlyArray<string> }
}

export interface SecurityKey {
  readonly id: Buffer
  /** SPKI, PEM. */
  readonly publicKey: string
  readonly displayName: string
  readonly addedAt: string
}

interface Address {
  readonly id: string
  readonly value: string
  verified: boolean
}

export interface Person {
  readonly id: string
  readonly schemaId: string
  readonly createdAt: string
  updatedAt: string
  state: "active" | "inactive"
  traits: Readonly<Record<string, unknown>>
  metadataPublic: unknown
  metadataAdmin: unknown
  password: string | undefined
  /** Base32. */
  totp: string | undefined
  keys: Array<SecurityKey>
  passkeys: Array<SecurityKey>
  /** The user id that the keys were created with, base64url. */
  readonly keyHandle: string
  passkeyHandle: string | undefined
  codes: Array<{ readonly code: string; usedAt: string | null }>
  addresses: Array<Address>
}

export interface Session {
  readonly id: string
  readonly token: string
  readonly logoutToken: string
  readonly person: Person
  readonly issuedAt: number
  readonly expiresAt: number
  readonly device: { readonly ip: string; readonly userAgent: string }
  authenticatedAt: number
  aal: "aal1" | "aal2"
  methods: Array<{ readonly method: string; readonly aal: string; readonly completed_at: string }>
}

export type FlowKind = "login" | "registration" | "settings" | "recovery"

export interface FormNode {
  readonly type: string
  readonly group: string
  readonly attributes: Readonly<Record<string, unknown>>
  messages: ReadonlyArray<unknown>
  readonly meta: unknown
}

export interface Flow {
  readonly id: string
  readonly kind: FlowKind
  readonly type: "api" | "browser"
  readonly issuedAt: number
  readonly expiresAt: number
  readonly requestUrl: string
  readonly returnTo: string | undefined
  /** Raw value of the CSRF cookie that it was created with. */
  readonly csrf: string
  readonly person: Person | undefined
  readonly aal: "aal1" | "aal2"
  readonly refresh: boolean
  state: string
  /** The fields when the flow was created, or after its last success. */
  nodes: ReadonlyArray<FormNode>
  messages: ReadonlyArray<unknown>
  /** Challenges and secrets that only the server knows. */
  secret: {
    totp?: string
    key?: string
    passkey?: string
    codes?: ReadonlyArray<string>
    /** Tokens of the links that were sent. */
    links?: ReadonlyArray<string>
  }
}

export interface Message {
  readonly id: string
  readonly recipient: string
  readonly subject: string
  readonly body: string
  readonly createdAt: string
}

/** All of the server's state, in memory. */
export class State {
  readonly people = new Map<string, Person>()
  readonly sessions = new Map<string, Session>()
  /** Tokens that were logged out. */
  readonly endedTokens = new Set<string>()
  readonly flows = new Map<string, Flow>()
  readonly messages: Array<Message> = []
  readonly settings: Settings
  /** With a trailing slash, as in Kratos; set when the port is known. */
  baseUrl = ""
  readonly #cookieKey = randomBytes(32)

  constructor(settings: Settings) {
    this.settings = settings
  }

  /** A new cookie value of the session; each is different. */
  cookieOf(session: Session) {
    const text = `${session.id}.${randomBytes(12).toString("base64url")}`
    return Buffer.from(`${text}.${this.#mac(text)}`).toString("base64url")
  }

  /** The session id in a cookie's value, undefined when it can't be read. */
  readCookie(value: string) {
    const [id = "", salt = "", mac = ""] = Buffer.from(value, "base64url").toString().split(".")
    return mac === this.#mac(`${id}.${salt}`) ? id : undefined
  }

  /** The session, if it is still valid. */
  alive(session: Session | undefined) {
    return session !== undefined &&
      session.expiresAt > Date.now() &&
      this.people.get(session.person.id)?.state === "active"
      ? session
      : undefined
  }

  open(person: Person, method: string, device: Session["device"]) {
    const now = Date.now()
    const session: Session = {
      id: randomUUID(),
      token: `ory_st_${randomBytes(24).toString("base64url").replaceAll(/[-_]/g, "x")}`,
      logoutToken: `ory_lo_${randomBytes(24).toString("hex")}`,
      person,
      issuedAt: now,
      expiresAt: now + this.settings.sessionSeconds * 1000,
      device,
      authenticatedAt: now,
      aal: "aal1",
      methods: []
    }
    complete(session, method, "aal1")
    this.sessions.set(session.id, session)
    return session
  }

  close(person: Person, except?: string) {
    const ended = [...this.sessions.values()].filter((one) => one.person === person && one.id !== except)
    for (const { id } of ended) this.sessions.delete(id)
    return ended.length
  }

  /** Whether a session lacks a second factor that its identity has. */
  owesFactor(session: Session) {
    return session.aal === "aal1" && hasSecondFactor(session.person)
  }

  byIdentifier(name: string) {
    const wanted = name.trim().toLowerCase()
    return [...this.people.values()].find(({ traits }) => String(traits["email"] ?? "").toLowerCase() === wanted)
  }

  #mac(text: string) {
    return createHmac("sha256", this.#cookieKey).update(text).digest("base64url")
  }
}

/** Recovery codes alone already require a second factor. */
const hasSecondFactor = (person: Person) =>
  person.totp !== undefined || person.keys.length > 0 || person.codes.length > 0

/** Records that a factor was used or set up. */
export const complete = (session: Session, method: string, aal: "aal1" | "aal2") => {
  session.methods.push({ method, aal, completed_at: new Date().toISOString() })
  if (aal === "aal2") session.aal = "aal2"
}
