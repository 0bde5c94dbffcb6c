/** The link that signs in the owner of the first org. It is a setting of the installation, because there is one at most. */
import { statement } from '../../db/statement.ts'

/** Deletes the link, so that it works once. Returns no row when it is unknown, used or too old. */
export const useFirstLink = statement<{ tokenHash: string; now: Date }, { user_id: string }>(
  'signin.use_first_link',
  `delete from settings
   where name = 'first_sign_in' and value->>'token_hash' = :tokenHash and (value->>'expires_at')::timestamptz > :now
   returning value->>'user_id' as user_id`,
)
