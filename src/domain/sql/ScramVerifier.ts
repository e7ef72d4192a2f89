import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto"

const iterations = 4096

/**
 * What PostgreSQL stores of a password (SCRAM-SHA-256, RFC 5803), from which the password can't be read. PostgreSQL takes it in
 * place of a password, as psql's \password sends it.
 */
export const scramVerifier = (password: string, salt: Uint8Array = randomBytes(16)): string => {
  const salted = pbkdf2Sync(password.normalize("NFKC"), salt, iterations, 32, "sha256")
  const keyOf = (name: string) => createHmac("sha256", salted).update(name).digest()
  const stored = createHash("sha256").update(keyOf("Client Key")).digest("base64")
  const server = keyOf("Server Key").toString("base64")
  return `SCRAM-SHA-256$${iterations}:${Buffer.from(salt).toString("base64")}$${stored}:${server}`
}
