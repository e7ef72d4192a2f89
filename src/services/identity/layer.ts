import { Layer } from "effect"
import { GuessLimits } from "./GuessLimits.ts"
import { IdentityMarks } from "./Marks.ts"
import { Mfa } from "./Mfa.ts"
import { Sessions } from "./Sessions.ts"
import { SignIn } from "./SignIn.ts"

/** Sessions, sign-in and second factors. */
export const layer = Layer.mergeAll(Mfa.layer, SignIn.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(Sessions.layer, IdentityMarks.layer, GuessLimits.layer))
)
