import { type HttpServerRequest } from "effect/http"
import { type LiveKey } from "../../services/access/Keys.ts"

/** What admitted a request: an API key, or the identity of an administrator's or user's session. */
export type Admitted =
  | { readonly _tag: "Key"; readonly key: LiveKey }
  | { readonly _tag: "Session"; readonly session: { readonly identity: { readonly id: string } } }

const admitted = new WeakMap<object, Admitted>()

/** Remembers it for the request log, which stands around the gates. */
export const remember = <A extends Admitted>({ source }: HttpServerRequest.HttpServerRequest, who: A): A => {
  admitted.set(source, who)
  return who
}

export const admittedBy = ({ source }: HttpServerRequest.HttpServerRequest): Admitted | undefined =>
  admitted.get(source)
