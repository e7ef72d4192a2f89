import { Context } from "effect"
import { type EncryptionKey } from "../../domain/connections/SealedText.ts"

/**
 * What secrets are kept under (docs/configuration.md: SVC_ENCRYPTION_KEY). `current` is undefined when none is
 * configured: then nothing is encrypted or read.
 */
export class EncryptionKeys extends Context.Service<
  EncryptionKeys,
  { readonly current: EncryptionKey | undefined; readonly old: ReadonlyArray<EncryptionKey> }
>()("svc/services/EncryptionKeys") {}
