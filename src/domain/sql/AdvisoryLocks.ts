/**
 * Numbers of the advisory locks that replicas meet at in PostgreSQL, all in one place because two that are the same
 * would wait for each other. As text: they are larger than an int4 and written into SQL. A number never changes:
 * replicas of two versions may run beside each other.
 */

/** Replicas that start together install one after the other. */
export const installLock = "7298113042"
/** The first keys are made once. */
export const firstKeysLock = "7298113043"
/** Old webhook logs are cleared away by one replica at a time. */
export const pruneLock = "7298113044"
/** Held by a webhook worker that wants to be notified; svc.enqueue_webhooks() tries it (migration 0003). */
export const wakeUpLock = "7298113045"
/** Changes of flags and segments are made one after the other, each checked against what the one before left. */
export const flagsLock = "7298113046"
/** Environments are made one after the other, and what a failed attempt left is taken back between two of them. */
export const environmentsLock = "7298113047"
/** The extension of foreign tables is created once. */
export const foreignDataLock = "7298113048"
/** One run of migration files at a time. */
export const migrationsLock = "7298113050"
/** One branch is made at a time. */
export const branchesLock = "7298113051"
/** Shared by backups that are being made: the database is not copied into a branch meanwhile. */
export const backupsLock = "7298113052"
/** First of two numbers, the second is the backup's id: held while that one is made. */
export const backupRunLock = "72981153"
/** The same while that one's file is copied to the object store. */
export const backupCopyLock = "72981154"
/** Held in a branch's own database, not in the main one, by whoever fills that branch. */
export const branchFillLock = "7298113055"
