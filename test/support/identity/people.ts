import { randomBytes } from "node:crypto"
import { ask, type Reply, type Request, sql } from "../client.ts"
import { type Address } from "../service.ts"
import { freshEmail } from "./idp.ts"

type Service = Pick<Address, "url" | "service_role">

/** A person who has an account of the embedded identity provider, and a session in `cookie`. */
export interface Member {
  readonly email: string
  readonly password: string
  readonly id: string
  readonly cookie: string
}

/** The session cookie among the Set-Cookie lines of an answer, as a Cookie header; "" if there is none. */
export const sessionCookie = ({ headers }: Reply): string => {
  const line = headers.getSetCookie().find((one) => /^idp_session=[^;]/.test(one))
  return line?.split(";")[0] ?? ""
}

/** Makes a request as a page of the service does, with a session. */
export const asMember = (service: Pick<Service, "url">, cookie: string, line: string, request: Request = {}) =>
  ask(service, line, { ...request, headers: { cookie, origin: service.url, ...request.headers } })

/** Every person has a client address of their own: registrations are limited by it. */
export const elsewhere = () => ({ "x-forwarded-for": `203.0.113.${randomBytes(1)[0]}` })

export const register = async (service: Service, email = freshEmail()): Promise<Member> => {
  const password = randomBytes(12).toString("hex")
  const reply = await ask(service, "POST /api/auth/register", { body: { email, password }, headers: elsewhere() })
  if (reply.status !== 201) throw new Error(`Registration: ${reply.status} ${reply.text}`)
  const { session } = reply.json as { readonly session: { readonly identity: { readonly id: string } } }
  return { email, password, id: session.identity.id, cookie: sessionCookie(reply) }
}

export const logIn = (service: Pick<Service, "url">, identifier: string, password: string, headers = elsewhere()) =>
  ask(service, "POST /api/auth/login", { body: { identifier, password }, headers })

/** The newest message to an address: its text, and the link and the code in it. */
export const mailTo = async (service: Service, recipient: string) => {
  const [mail] = await sql(service, "select body from svc.mails where recipient = $1 order by id desc limit 1", [
    recipient
  ])
  const text = String(mail?.["body"] ?? "")
  const link = /https?:\S+/.exec(text)?.[0] ?? ""
  const fields = new URL(link === "" ? "http://none.example" : link).searchParams
  return {
    text,
    link,
    flowId: fields.get("flow") ?? "",
    token: fields.get("token") ?? "",
    code: /: (\d{8})$/m.exec(text)?.[1] ?? ""
  }
}
