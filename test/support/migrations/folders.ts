/**
 * Folders of hundreds of migrations in the form in which each tool writes them: among plain files those that end a transaction
 * in the middle, and those with one statement that can't be part of one. Their last file counts what the others have made.
 */

type Files = Readonly<Record<string, string>>

const stamp = (n: number) => String(20_240_101_000_000 + n)
const both = (n: number, files: ReadonlyArray<(n: number) => string>) => files[n % files.length]?.(n) ?? ""

const table = (n: number) => `CREATE TABLE "t${n}" ("id" SERIAL PRIMARY KEY, "name" TEXT NOT NULL);`
const column = (n: number) => `ALTER TABLE "t${n - 1}" ADD COLUMN "more" TEXT;`
const concurrently = (n: number) => `CREATE INDEX CONCURRENTLY "i${n}" ON "t${n - 2}" ("name");`
/** As Prisma replaces an enum of which a value is removed. */
const replacedEnum = (n: number) => `CREATE TYPE "k${n}" AS ENUM ('a', 'b');
ALTER TABLE "t${n - 3}" ADD COLUMN "kind" "k${n}" NOT NULL DEFAULT 'a';
BEGIN;
CREATE TYPE "k${n}_new" AS ENUM ('a');
ALTER TABLE "t${n - 3}" ALTER COLUMN "kind" DROP DEFAULT;
ALTER TABLE "t${n - 3}" ALTER COLUMN "kind" TYPE "k${n}_new" USING ("kind"::text::"k${n}_new");
ALTER TYPE "k${n}" RENAME TO "k${n}_old";
ALTER TYPE "k${n}_new" RENAME TO "k${n}";
DROP TYPE "k${n}_old";
COMMIT;

-- AlterTable
ALTER TABLE "t${n - 3}" ADD COLUMN "last" TEXT;`

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

/** `migrations/<time>_<name>/migration.sql`. */
export const prismaFolder = (count: number): Files => ({
  "migration_lock.toml": 'provider = "postgresql"\n',
  ...Object.fromEntries(
    numbers(count).map((n) => [
      `${stamp(n)}_step_${n}/migration.sql`,
      `-- Step ${n}\n${both(n, [table, column, concurrently, replacedEnum])}\n`
    ])
  )
})

/** `<time>_<name>.sql`, as the command line of Supabase and its templates have them. */
export const supabaseFolder = (count: number): Files =>
  Object.fromEntries(
    numbers(count).map((n) => [
      `${stamp(n)}_step_${n}.sql`,
      both(n, [
        table,
        column,
        concurrently,
        (n) => `begin;
  drop publication if exists p;
  create publication p;
commit;
alter publication p add table "t${n - 3}";`
      ])
    ])
  )

/** `meta/_journal.json` and `<number>_<name>.sql`, split at breakpoints. */
export const drizzleFolder = (count: number): Files => {
  const tag = (n: number) => `${String(n).padStart(4, "0")}_step`
  const entries = numbers(count).map((n) => ({ idx: n, version: "7", when: 1_700_000_000_000 + n, tag: tag(n) }))
  return {
    "meta/_journal.json": JSON.stringify({ version: "7", dialect: "postgresql", entries }),
    ...Object.fromEntries(
      numbers(count).map((n) => [
        `${tag(n)}.sql`,
        both(n, [
          table,
          column,
          (n) => `CREATE INDEX "i${n}" ON "t${n - 2}" ("name")\n--> statement-breakpoint\nANALYZE "t${n - 2}";`,
          (n) => replacedEnum(n).replaceAll(";\n", ";\n--> statement-breakpoint\n")
        ])
      ])
    )
  }
}
