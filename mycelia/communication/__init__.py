"""Communication between processes: ranks, groups, and collective functions.

In a single process, every group has one member, and collectives return their inputs.
"""

from mycelia.communication import comm_func as comm_func
from mycelia.communication import management as management
from mycelia.communication.management import HCCL_WORLD_COMM_GROUP as HCCL_WORLD_COMM_GROUP
from mycelia.communication.management import MCCL_WORLD_COMM_GROUP as MCCL_WORLD_COMM_GROUP
from mycelia.communication.management import NCCL_WORLD_COMM_GROUP as NCCL_WORLD_COMM_GROUP
from mycelia.communication.management import GlobalComm as GlobalComm
from mycelia.communication.management import create_group as create_group
from mycelia.communication.management import destroy_group as destroy_group
from mycelia.communication.management import get_comm_name as get_comm_name
from mycelia.communication.management import (
    get_group_rank_from_world_rank as get_group_rank_from_world_rank,
)
from mycelia.communication.management import get_group_size as get_group_size
from mycelia.communication.management import get_local_rank as get_local_rank
from mycelia.communication.management import get_local_rank_size as get_local_rank_size
from mycelia.communication.management import get_process_group_ranks as get_process_group_ranks
from mycelia.communication.management import get_rank as get_rank
from mycelia.communication.management import (
    get_world_rank_from_group_rank as get_world_rank_from_group_rank,
)
from mycelia.communication.management import init as init
from mycelia.communication.management import release as release
