import { Context } from "effect"
import { type EncryptionKey } from "../../domain/connections/SealedText.ts"

/**
 * The keys that encrypt stored secrets (docs/configuration.md: SVC_ENCRYPTION_KEY). `current` is undefined if none is
 * configured: then nothing can be encrypted or decrypted.
 */
export class EncryptionKeys extends Context.Service<
  EncryptionKeys,
  { readonly current: EncryptionKey | undefined; readonly old: ReadonlyArray<EncryptionKey> }
>()("svc/services/EncryptionKeys") {}
