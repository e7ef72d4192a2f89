import { type HttpServerRequest } from "effect/http"
import { type AuditActor } from "../../domain/audit/Entry.ts"
import { type LiveKey } from "../../services/access/Keys.ts"
import { type Session } from "../../services/identity/Sessions.ts"

/** The credential that admitted a request: an API key, or an administrator's or user's session. */
export type Admitted =
  | { readonly _tag: "Key"; readonly key: LiveKey }
  | { readonly _tag: "Session"; readonly session: Session }

const admitted = new WeakMap<object, Admitted>()

/** Keeps it for the request log, whose middleware is outside the gates. */
export const remember = <A extends Admitted>({ source }: HttpServerRequest.HttpServerRequest, who: A): A => {
  admitted.set(source, who)
  return who
}

const ids = new WeakMap<object, string>()

/** Keeps the request's id for the audit. */
export const identify = ({ source }: HttpServerRequest.HttpServerRequest, id: string): void => {
  ids.set(source, id)
}

export const requestIdOf = ({ source }: HttpServerRequest.HttpServerRequest): string | undefined => ids.get(source)

export const admittedBy = ({ source }: HttpServerRequest.HttpServerRequest): Admitted | undefined =>
  admitted.get(source)

/** The key of a request as the audit names it. Those in the form of a JWT (SVC_SUPABASE_JWT_KEYS) have no record. */
export const keyActorOf = (request: HttpServerRequest.HttpServerRequest): AuditActor => {
  const who = admittedBy(request)
  return who?._tag === "Key"
    ? { type: "key", id: String(who.key.id), label: who.key.label }
    : { type: "key", id: "", label: "JWT" }
}
