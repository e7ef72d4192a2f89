import { type Credential } from "./Identity.ts"

/** Who comes with a session, or says so. */
export interface Visitor {
  /** At most one of each kind, in the order they are tried in; empty: nobody in particular. */
  readonly credentials: ReadonlyArray<Credential>
  /** Where a browser goes after a step-up at the idp; undefined: where the idp sends it. */
  readonly returnTo: string | undefined
}
