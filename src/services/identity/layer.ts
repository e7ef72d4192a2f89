import { Layer } from "effect"
import { Mfa } from "./Mfa.ts"
import { Sessions } from "./Sessions.ts"
import { SessionTokens } from "./SessionTokens.ts"
import { IdentitySignatures } from "../access/Signatures.ts"
import { SignIn } from "./SignIn.ts"

/** Sessions, sign-in and second factors. */
export const layer = Layer.mergeAll(Mfa.layer, SignIn.layer, SessionTokens.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(Sessions.layer, IdentitySignatures.layer))
)
