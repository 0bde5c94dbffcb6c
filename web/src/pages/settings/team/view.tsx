import { UserPlus } from 'lucide-react'
import { team } from '../../../strings/settings.ts'
import { Button } from '../../../ui/button.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { Invitations } from './invitations.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { Members } from './members.tsx'

const TeamPage = () => {
  const [{ tab, open }, change] = useFilters({ tab: 'members', open: '' })
  return (
    <Page
      title={team.title}
      description={team.help}
      actions={
        <Button
          look="primary"
          gate="requireOwnerSession"
          icon={<UserPlus aria-hidden className="size-4" />}
          onClick={() => change({ open: 'invite' })}
        >
          {team.invite}
        </Button>
      }
    >
      <Tabs
        label={team.title}
        value={tab}
        onValue={(id) => change({ tab: id })}
        tabs={[
          { id: 'members', label: team.members, panel: <Members /> },
          { id: 'invitations', label: team.invitations, panel: <Invitations /> },
        ]}
      />
      <InviteDialog open={open === 'invite'} onClose={() => change({ open: '' })} />
    </Page>
  )
}

export default TeamPage
