import { assert, it } from "vitest"
import { scramVerifier } from "../../../src/domain/sql/ScramVerifier.ts"

it("is what PostgreSQL stores for a password and a salt", () => {
  // Of RFC 7677, section 3: password "pencil", 4096 iterations.
  const salt = Buffer.from("W22ZaJ0SNY7soEsUEjb6gQ==", "base64")
  assert.strictEqual(
    scramVerifier("pencil", salt),
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
  )
  assert.notStrictEqual(scramVerifier("pencil"), scramVerifier("pencil"))
})
