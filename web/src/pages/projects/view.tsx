import { projects } from '../../strings/projects.ts'
import { Page } from '../../ui/templates.tsx'
import { CreateButton, SenderList } from '../senders/sender-list.tsx'
import { projectKind } from './project-kind.tsx'

const ProjectsPage = () => (
  <Page title={projects.title} description={projects.help} actions={<CreateButton kind={projectKind} />}>
    <SenderList kind={projectKind} />
  </Page>
)

export default ProjectsPage
